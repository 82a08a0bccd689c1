//! Errors of oslat, hwlatdetect and cyclicdeadline.

use std::io;

use howlate_gaps::GapError;

use crate::deadline_refusal::DeadlineRefusal;

/// An error that ends the program with status 1.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RtTestsError {
    /// An invalid value, or a run that was ended by `--trace-threshold`.
    #[error("{0}")]
    Invalid(String),
    /// A message of `getopt_long`, after the usage was printed.
    #[error("{0}")]
    GetoptError(String),
    #[error(transparent)]
    Gaps(#[from] GapError),
    #[error(transparent)]
    Deadline(#[from] Box<DeadlineRefusal>),
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
    #[error("Failed to open '{path}': {source}")]
    File { path: String, source: io::Error },
    #[error("cannot receive signals: {0}")]
    Signals(io::Error),
}

impl RtTestsError {
    /// Exit status of the originals.
    pub(crate) const fn status(&self) -> u8 {
        1
    }

    /// Text for standard error.
    pub(crate) fn text(&self, program: &str) -> String {
        let hint = match self {
            Self::Gaps(error) => error.hint(),
            Self::Deadline(refusal) => refusal.hint(),
            _ => None,
        };
        let hint = hint.map(|hint| format!("hint: {hint}\n"));
        format!("{program}: {self}\n{}", hint.unwrap_or_default())
    }
}
