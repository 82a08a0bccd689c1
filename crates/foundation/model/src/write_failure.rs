//! Errors of writing a recording.

use std::io;

use crate::{AsText, OsError};

/// Why lines are missing from a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailure {
    /// A write failed.
    #[error("{0}")]
    Os(OsError),
    /// The write succeeded, but `fsync(2)` failed.
    #[error("the disk did not confirm that it has them: {0}")]
    Unconfirmed(OsError),
    /// The path no longer refers to the file that was opened.
    #[error("the file was removed, or another was put in its place, during the run")]
    FileReplaced,
    /// The file was renamed, and its new path is known.
    #[error("the file was moved during the run: all lines are in {to}")]
    FileMoved {
        /// Its new path.
        to: String,
    },
    /// The file's length is not the number of bytes written.
    #[error(
        "somebody else made the file {found} bytes long during the run, when {written} had been written: it holds what \
         was left then, and what came later"
    )]
    FileChanged {
        /// Its length in bytes.
        found: u64,
        /// Bytes written to it.
        written: u64,
    },
}

impl WriteFailure {
    /// From a failed `fsync(2)`.
    pub fn unconfirmed(error: &io::Error) -> AsText<Self> {
        match error.raw_os_error() {
            Some(number) => Self::Unconfirmed(OsError(number)).into(),
            None => error.into(),
        }
    }
}

impl From<OsError> for WriteFailure {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}
