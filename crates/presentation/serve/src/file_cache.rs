//! A text made from files, cached until they change.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::ServeError;

/// Caches one text; concurrent callers wait while it is made.
#[derive(Debug, Default)]
pub struct FileCache {
    cached: Mutex<Option<(Vec<FileState>, Arc<str>)>>,
}

impl FileCache {
    /// The text for the current state of the files; `make` is called when they changed.
    ///
    /// # Errors
    ///
    /// When a file cannot be read repeatedly, or `make` fails.
    pub fn open<E: From<ServeError>>(
        &self,
        files: &[PathBuf],
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Arc<str>, E> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        // Read before the content: files that change meanwhile differ next time.
        let states = files.iter().map(|path| FileState::of_file(path)).collect::<Result<Vec<_>, _>>()?;
        if let Some((cached_states, text)) = &*cached
            && *cached_states == states
        {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = make()?.into();
        *cached = Some((states, Arc::clone(&text)));
        Ok(text)
    }
}

/// Identity, length and time of a file, which change with its content.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl FileState {
    fn of_file(path: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::File { path: path.to_owned(), source };
        let metadata = path.metadata().map_err(failed)?;
        match metadata.is_file() {
            true => Ok(Self::new(path, &metadata)),
            false => Err(ServeError::NotAgain { path: path.to_owned() }),
        }
    }

    fn new(path: &Path, metadata: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_read_again_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&path, "one").unwrap();
        let fresh = FileCache::default();
        let content = || std::fs::read_to_string(&path).map_err(|_| panic!("it was there a moment ago"));
        let text = || fresh.open::<ServeError>(std::slice::from_ref(&path), content);
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
        let fresh = FileCache::default();
        let refused = fresh.open::<ServeError>(&[PathBuf::from("/dev/null")], || Ok(String::new()));
        assert!(matches!(refused, Err(ServeError::NotAgain { .. })));
    }
}
