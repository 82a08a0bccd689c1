//! Why nothing can be written where it was asked for.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is something already; nothing is written over.
    #[error("{} already exists; refusing to overwrite it", path.display())]
    Exists {
        /// The path asked for.
        path: PathBuf,
    },
    /// Another run writes it.
    #[error("another howlate writes {} at present", path.display())]
    Busy {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file could not be made or written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl CreateError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path: path.to_owned() },
            io::ErrorKind::ResourceBusy => Self::Busy { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}
