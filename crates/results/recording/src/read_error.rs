//! Errors of reading a recording.

use std::io;
use std::path::PathBuf;

use howlate_model::{FORMAT, shell_path};

use crate::bounded::{LONGEST_LINE, size};

/// Why a file cannot be read as a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The file is empty.
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    /// The first line is not a header.
    #[error("{} is not a howlate recording: {reason}", path.display())]
    NotARecording {
        path: PathBuf,
        /// What is wrong with the first line.
        reason: String,
    },
    /// Written by a later version of this program.
    #[error("{} has format {found}; this howlate reads up to format {FORMAT}", path.display())]
    Newer {
        path: PathBuf,
        /// Format number in its header.
        found: u64,
    },
    /// A line exceeds the limit.
    #[error("{} line {line} is longer than {}, the longest that is read", path.display(), size(LONGEST_LINE as u64))]
    LineTooLong {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
    },
    /// A second header, as when two files were concatenated.
    #[error("another recording begins on line {line} of {}", path.display())]
    SecondHeader {
        path: PathBuf,
        /// Line number of the second header, from 1.
        line: usize,
    },
    #[error("{} line {line} is damaged: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl ReadError {
    pub fn hint(&self) -> String {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run it as the user who recorded, or as root".into()
            }
            Self::Io { .. } => "give the path of a recording made with `--out`, or of a folder that `howlate record` has written".into(),
            Self::Newer { .. } => "install a newer howlate to read it".into(),
            Self::Empty { .. } | Self::NotARecording { .. } | Self::LineTooLong { line: 1, .. } => {
                "recordings are made with `--out`, such as `howlate cyclic --out result.jsonl`".into()
            }
            Self::SecondHeader { path, line } => {
                format!("split them: `tail -n +{line} {} > second.jsonl`", shell_path(path))
            }
            Self::Damaged { path, line, .. } | Self::LineTooLong { path, line } => {
                format!(
                    "the lines before it can be kept: `head -n {} {} > mended.jsonl`",
                    line.saturating_sub(1),
                    shell_path(path)
                )
            }
        }
    }
}
