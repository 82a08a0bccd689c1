//! Why a turn is worth nothing, or less than asked.

use crate::{AsText, OsError, SettingRefusal};

/// Why a turn did not do what was asked of it. What engines and runtimes say of their own failures is kept in their words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnFailure {
    /// The call that waits failed.
    #[error("{0}")]
    Os(OsError),
    /// Its time was up.
    #[error("it was cut at its time limit")]
    TimeLimit,
    /// A setting was not what it was to be until the end. The words of the caveat that tells it, too.
    #[error(
        "{path} was set to `{set}` for this run, and held `{found}` at the end: something else changed it meanwhile."
    )]
    SettingChanged {
        /// Path of the recording.
        path: String,
        /// What the run had set, and read back.
        set: String,
        /// What it held at the end.
        found: String,
    },
    /// No thread of a program that is watched has what is asked, and nothing says why.
    #[error("no thread of the program can have it, as they are now")]
    NoThread,
    /// A setting that was asked for is in force nowhere.
    #[error("{setting}: {reason}")]
    Setting {
        /// The setting, as written in the plan, or its file.
        setting: String,
        /// Why it was refused.
        reason: AsText<SettingRefusal>,
    },
}

impl From<OsError> for TurnFailure {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}
