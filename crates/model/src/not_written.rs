//! Why a recording lacks lines.

use crate::OsError;

/// Why lines are not in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    /// The kernel's answer.
    #[error("{0}")]
    Os(OsError),
    /// What was written is no longer where it was begun.
    #[error("the file was removed, or another was put in its place, during the run")]
    FileReplaced,
}

impl From<OsError> for NotWritten {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}
