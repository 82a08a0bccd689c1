//! Recordings from disk, read again after a change.

use std::path::PathBuf;
use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_render as render;
use howlate_serve::FileCache;

use crate::commands::reading::{self, TextMode};
use crate::commands::{recordings_or_latest, report};
use crate::error::Error;

/// The given recordings, or always the most recent run.
pub(super) struct SavedRecordings {
    paths: Vec<PathBuf>,
    page: FileCache,
    metrics: FileCache,
    openmetrics2: FileCache,
}

impl SavedRecordings {
    /// Fails where they are missing or are no recordings.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let fresh = FileCache::default;
        let recordings =
            Self { paths: paths.to_vec(), page: fresh(), metrics: fresh(), openmetrics2: fresh() };
        recordings.metrics()?;
        Ok(recordings)
    }

    /// The page of `howlate report`.
    pub(super) fn page(&self) -> Result<Arc<str>, Error> {
        self.read_if_changed(&self.page, report::default_page)
    }

    /// The text of `howlate show --prometheus`.
    pub(super) fn metrics(&self) -> Result<Arc<str>, Error> {
        self.read_if_changed(&self.metrics, |recordings| metrics(recordings, render::prometheus))
    }

    /// Metrics in OpenMetrics 2.0.
    pub(super) fn openmetrics2(&self) -> Result<Arc<str>, Error> {
        self.read_if_changed(&self.openmetrics2, |recordings| metrics(recordings, render::openmetrics2))
    }

    fn read_if_changed(
        &self,
        fresh: &FileCache,
        make: fn(&[PathBuf]) -> Result<String, Error>,
    ) -> Result<Arc<str>, Error> {
        let recordings = recordings_or_latest(&self.paths)?;
        let mut files = Vec::new();
        for recording in &recordings {
            files.extend(reading::files(recording)?);
        }
        fresh.open(&files, || make(&recordings))
    }
}

fn metrics(recordings: &[PathBuf], format: fn(&[&Analysis], &[String]) -> String) -> Result<String, Error> {
    let read = |path: &PathBuf| reading::analysis(path, TextMode::Legible);
    let analyses: Vec<Analysis> = recordings.iter().map(read).collect::<Result<_, _>>()?;
    let names: Vec<String> = recordings.iter().map(|path| reading::name(path)).collect();
    Ok(format(&analyses.iter().collect::<Vec<_>>(), &names))
}
