//! Why a place is not to be trusted.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// A place that somebody else could have prepared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {why}", path.display())]
pub struct NotPrivate {
    /// The file or folder itself, or one above it.
    pub path: PathBuf,
    /// What was found.
    pub why: Why,
}

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is somebody else's.
    #[error("belongs to another user (uid {uid})")]
    Owner {
        /// The user's id.
        uid: u32,
    },
    /// Others may write it.
    #[error("may be written by others (mode {mode:04o})")]
    Writable {
        /// The permission bits that it has.
        mode: u32,
    },
    /// Others may look into it.
    #[error("is open to others (mode {mode:04o}, not 0700)")]
    Open {
        /// The permission bits that it has.
        mode: u32,
    },
    /// Something else than what it should be.
    #[error("is not a {wanted}")]
    Kind {
        /// `folder` or `file`.
        wanted: &'static str,
    },
    /// It cannot be made, read or opened.
    #[error("cannot be used: {reason}")]
    Unreadable {
        /// The kernel's words.
        reason: String,
        /// Its number for them, if it is the kernel that refused.
        error: Option<Errno>,
    },
}

impl NotPrivate {
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self {
            path: path.to_owned(),
            why: Why::Unreadable { reason: error.to_string(), error: Errno::from_io_error(error) },
        }
    }
}
