//! Why nothing is measured, or what was measured could not be told.

use std::io;

use howlate_gaps::GapError;

use crate::deadline_refusal::DeadlineRefusal;

/// What ends the program with another status than 0.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was typed cannot be.
    #[error("{0}")]
    Refused(String),
    /// The same, and the usage was printed.
    #[error("{0}")]
    Unreadable(String),
    /// Nothing could be measured.
    #[error(transparent)]
    Gaps(#[from] GapError),
    /// The same of deadline threads.
    #[error(transparent)]
    Deadline(#[from] Box<DeadlineRefusal>),
    /// Nobody reads the output any more.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
    /// A file could not be written.
    #[error("Failed to open '{path}': {source}")]
    File { path: String, source: io::Error },
    /// Signals cannot be received.
    #[error("cannot receive signals: {0}")]
    Signals(io::Error),
}

impl Failure {
    /// The exit status, that of the originals.
    pub(crate) const fn status(&self) -> u8 {
        1
    }

    /// What is said on standard error.
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
