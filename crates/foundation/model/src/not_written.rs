//! Why a recording lacks lines.

use std::io;

use crate::{AsText, OsError};

/// Why lines are not in a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteFailure {
    /// The kernel's answer.
    #[error("{0}")]
    Os(OsError),
    /// The kernel took it, and then the disk did not.
    #[error("the disk did not confirm that it has them: {0}")]
    Unconfirmed(OsError),
    /// What was written is no longer where it was begun.
    #[error("the file was removed, or another was put in its place, during the run")]
    FileReplaced,
    /// The same, and it is known where that is by now.
    #[error("the file was moved during the run: all lines are in {to}")]
    FileMoved {
        /// Path that was to be written.
        to: String,
    },
    /// It is not as long any more as what was written to it.
    #[error(
        "somebody else made the file {found} bytes long during the run, when {written} had been written: it holds what \
         was left then, and what came later"
    )]
    FileChanged {
        /// How long it was found to be.
        found: u64,
        /// How long it should have been.
        written: u64,
    },
}

impl WriteFailure {
    /// Why what was written may not have reached the disk.
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
