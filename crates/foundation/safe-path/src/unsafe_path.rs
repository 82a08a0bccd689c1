//! Why a path is not safe to use.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// A path that another user could have prepared, or that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub struct UnsafePath {
    /// The file or folder itself, or one above it.
    pub path: PathBuf,
    pub reason: UnsafeReason,
}

/// Why a path is not safe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeReason {
    #[error("belongs to another user (uid {uid})")]
    Owner { uid: u32 },
    #[error("may be written by others (mode {mode:04o})")]
    Writable {
        /// Permission bits.
        mode: u32,
    },
    /// Others have access, while only this user may have.
    #[error("is open to others (mode {mode:04o}, not 0700)")]
    Open {
        /// Permission bits.
        mode: u32,
    },
    /// It has another file type.
    #[error("is not a {expected}")]
    Kind {
        /// `folder` or `file`.
        expected: &'static str,
    },
    /// It cannot be created, read or opened.
    #[error("cannot be used: {reason}")]
    Unreadable {
        /// Message of the kernel.
        reason: String,
        /// `None` if the error is not of the kernel.
        error: Option<Errno>,
    },
}

impl UnsafePath {
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self {
            path: path.to_owned(),
            reason: UnsafeReason::Unreadable {
                reason: error.to_string(),
                error: Errno::from_io_error(error),
            },
        }
    }
}
