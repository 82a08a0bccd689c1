//! Why a recording cannot be read.

use std::io;
use std::path::PathBuf;

use howlate_model::{FORMAT, shell_path};

use crate::bounded::{LONGEST_LINE, size};

/// Why a file cannot be read as a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file that was named.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{} is empty", path.display())]
    Empty {
        /// The file that was named.
        path: PathBuf,
    },
    /// The first line is not a header.
    #[error("{} is not a howlate recording: {reason}", path.display())]
    NotARecording {
        /// The file that was named.
        path: PathBuf,
        /// What is wrong with the first line.
        reason: String,
    },
    /// Written by a later version of this program.
    #[error("{} has format {found}; this howlate reads up to format {FORMAT}", path.display())]
    Newer {
        /// The file that was named.
        path: PathBuf,
        /// The format's number in its first line.
        found: u64,
    },
    /// A line is longer than any that is written.
    #[error("{} line {line} is longer than {}, the longest that is read", path.display(), size(LONGEST_LINE as u64))]
    LineTooLong {
        /// The file that was named.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
    /// Another recording begins in the middle, as when two files were joined.
    #[error("another recording begins on line {line} of {}", path.display())]
    SecondHeader {
        /// The file that was named.
        path: PathBuf,
        /// The number of the second header's line, from 1.
        line: usize,
    },
    /// A line in the middle is damaged.
    #[error("{} line {line} is damaged: {reason}", path.display())]
    Damaged {
        /// The file that was named.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl ReadError {
    /// What to do.
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
