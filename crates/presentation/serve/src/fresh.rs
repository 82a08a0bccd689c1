//! Texts that are made of files, and made again when these have changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::ServeError;

/// A text that is made of files, once for each state that they are in. Who asks meanwhile waits for it.
#[derive(Debug, Default)]
pub struct Fresh {
    made: Mutex<Option<(Vec<Mark>, Arc<str>)>>,
}

impl Fresh {
    /// The text of the files as they are now, which `make` makes of them.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read again, or `make` fails.
    pub fn open<E: From<ServeError>>(
        &self,
        files: &[PathBuf],
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Arc<str>, E> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before they are read: what is written meanwhile makes them different again.
        let marks = files.iter().map(|path| Mark::of_file(path)).collect::<Result<Vec<_>, _>>()?;
        if let Some((of, text)) = &*made
            && *of == marks
        {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = make()?.into();
        *made = Some((marks, Arc::clone(&text)));
        Ok(text)
    }
}

/// What tells a state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    path: PathBuf,
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl Mark {
    fn of_file(path: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::File { path: path.to_owned(), source };
        let found = path.metadata().map_err(failed)?;
        match found.is_file() {
            true => Ok(Self::new(path, &found)),
            false => Err(ServeError::NotAgain { path: path.to_owned() }),
        }
    }

    fn new(path: &Path, found: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
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
        let fresh = Fresh::default();
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
        let fresh = Fresh::default();
        let refused = fresh.open::<ServeError>(&[PathBuf::from("/dev/null")], || Ok(String::new()));
        assert!(matches!(refused, Err(ServeError::NotAgain { .. })));
    }
}
