//! Recordings from disk, read again when they have changed.

use std::path::PathBuf;
use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_render as render;
use howlate_serve::Fresh;

use crate::commands::reading::{self, Texts};
use crate::commands::{named_or_most_recent, report};
use crate::error::Error;

/// The recordings that were named, or whatever is the most recent run.
pub(super) struct Saved {
    named: Vec<PathBuf>,
    page: Fresh,
    metrics: Fresh,
    openmetrics2: Fresh,
}

impl Saved {
    /// They must be there, and be recordings, to begin with.
    pub(super) fn open(named: &[PathBuf]) -> Result<Self, Error> {
        let fresh = Fresh::default;
        let saved = Self { named: named.to_vec(), page: fresh(), metrics: fresh(), openmetrics2: fresh() };
        saved.metrics()?;
        Ok(saved)
    }

    /// As `howlate report` makes it.
    pub(super) fn page(&self) -> Result<Arc<str>, Error> {
        self.made(&self.page, report::page_of)
    }

    /// As `howlate show --prometheus` writes them.
    pub(super) fn metrics(&self) -> Result<Arc<str>, Error> {
        self.made(&self.metrics, |recordings| metrics(recordings, render::prometheus))
    }

    /// The same as OpenMetrics 2.0.
    pub(super) fn openmetrics2(&self) -> Result<Arc<str>, Error> {
        self.made(&self.openmetrics2, |recordings| metrics(recordings, render::openmetrics2))
    }

    fn made(&self, fresh: &Fresh, make: fn(&[PathBuf]) -> Result<String, Error>) -> Result<Arc<str>, Error> {
        let recordings = named_or_most_recent(&self.named)?;
        let mut files = Vec::new();
        for recording in &recordings {
            files.extend(reading::files(recording)?);
        }
        fresh.open(&files, || make(&recordings))
    }
}

fn metrics(recordings: &[PathBuf], written: fn(&[&Analysis], &[String]) -> String) -> Result<String, Error> {
    let read = |path: &PathBuf| reading::analysis(path, Texts::Legible);
    let analyses: Vec<Analysis> = recordings.iter().map(read).collect::<Result<_, _>>()?;
    let names: Vec<String> = recordings.iter().map(|path| reading::name(path)).collect();
    Ok(written(&analyses.iter().collect::<Vec<_>>(), &names))
}
