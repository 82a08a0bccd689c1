//! Recordings from disk, read again when they have changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use howlate_analyse::Analysis;
use howlate_record::ReadError;
use howlate_render as render;
use howlate_serve::ServeError;

use crate::commands::reading::{self, Texts};
use crate::commands::{named_or_most_recent, report};
use crate::error::Error;

/// The recordings that were named, or whatever is the most recent run.
pub(super) struct Saved {
    named: Vec<PathBuf>,
    page: Fresh,
    metrics: Fresh,
}

impl Saved {
    /// They must be there, and be recordings, to begin with.
    pub(super) fn open(named: &[PathBuf]) -> Result<Self, Error> {
        let saved = Self { named: named.to_vec(), page: Fresh::new(page), metrics: Fresh::new(metrics) };
        saved.metrics()?;
        Ok(saved)
    }

    /// As `howlate report` makes it.
    pub(super) fn page(&self) -> Result<Arc<str>, Error> {
        self.page.open(&named_or_most_recent(&self.named)?)
    }

    /// As `howlate show --prometheus` writes them.
    pub(super) fn metrics(&self) -> Result<Arc<str>, Error> {
        self.metrics.open(&named_or_most_recent(&self.named)?)
    }
}

fn page(recordings: &[PathBuf]) -> Result<String, Error> {
    report::page_of(recordings)
}

fn metrics(recordings: &[PathBuf]) -> Result<String, Error> {
    let read = |path: &PathBuf| reading::analysis(path, Texts::Legible);
    let analyses: Vec<Analysis> = recordings.iter().map(read).collect::<Result<_, _>>()?;
    let names: Vec<String> = recordings.iter().map(|path| reading::name(path)).collect();
    Ok(render::prometheus(&analyses.iter().collect::<Vec<_>>(), &names))
}

/// A text that is made of recordings, once for each state that they are in. Who asks meanwhile waits for it.
struct Fresh {
    make: fn(&[PathBuf]) -> Result<String, Error>,
    made: Mutex<Option<(Vec<Mark>, Arc<str>)>>,
}

impl Fresh {
    const fn new(make: fn(&[PathBuf]) -> Result<String, Error>) -> Self {
        Self { make, made: Mutex::new(None) }
    }

    /// The text of the recordings as they are now.
    fn open(&self, recordings: &[PathBuf]) -> Result<Arc<str>, Error> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before they are read: what is written meanwhile makes them different again.
        let marks = marks(recordings)?;
        if let Some((of, text)) = &*made
            && *of == marks
        {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = (self.make)(recordings)?.into();
        *made = Some((marks, Arc::clone(&text)));
        Ok(text)
    }
}

/// What tells a state of a file from another.
#[derive(PartialEq, Eq)]
struct Mark {
    path: PathBuf,
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl Mark {
    fn open(path: &Path, found: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// The state of each file that the recordings are.
fn marks(recordings: &[PathBuf]) -> Result<Vec<Mark>, Error> {
    let mut marks = Vec::new();
    for recording in recordings {
        for path in reading::files(recording)? {
            let failed = |source| ReadError::Io { path: path.clone(), source };
            let found = path.metadata().map_err(failed)?;
            if !found.is_file() {
                return Err(ServeError::NotAgain { path }.into());
            }
            marks.push(Mark::open(&path, &found));
        }
    }
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(recordings: &[PathBuf]) -> Result<String, Error> {
        Ok(std::fs::read_to_string(&recordings[0])?)
    }

    #[test]
    fn what_has_changed_is_read_again_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&path, "one").unwrap();
        let fresh = Fresh::new(content);
        let text = || fresh.open(std::slice::from_ref(&path));
        let first = text().unwrap();
        assert!(Arc::ptr_eq(&first, &text().unwrap()), "read once");
        std::fs::write(&path, "more").unwrap();
        assert_eq!(&*text().unwrap(), "more");
        // Another file of the same length takes its place.
        std::fs::write(&other, "less").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(&*text().unwrap(), "less");
        std::fs::remove_file(&path).unwrap();
        assert!(text().is_err(), "what is gone is not shown as it was");
    }

    #[test]
    fn what_can_be_read_once_only_is_refused() {
        let fresh = Fresh::new(content);
        let refused = fresh.open(&[PathBuf::from("/dev/null")]);
        assert!(matches!(refused, Err(Error::Serve(ServeError::NotAgain { .. }))));
    }
}
