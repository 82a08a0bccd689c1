//! Why nothing can be shown of a file.

use std::path::PathBuf;

use howlate_import::ImportError;
use howlate_model::shell_path;
use howlate_recording::{NoSource, ReadError};

/// Why nothing can be shown of a file.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    /// It is no recording, or a damaged one.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There are several, and they cannot be read as one.
    #[error(transparent)]
    Sources(#[from] NoSource),
    /// A folder, or a pattern, without any.
    #[error("there is no recording in {}", path.display())]
    NoRecordings {
        /// What was named.
        path: PathBuf,
    },
    /// A timeline that stands beside a recording.
    #[error("{} is a timeline of all CPUs, not a recording", path.display())]
    Timeline {
        /// The file that was named.
        path: PathBuf,
    },
    /// A page made of a recording.
    #[error("{} is a page of howlate, not a recording", path.display())]
    Page {
        /// The file that was named.
        path: PathBuf,
    },
    /// A program, which is watched and not read.
    #[error("{} is a program, not a recording", path.display())]
    Program {
        /// The file that was named.
        path: PathBuf,
    },
    /// Another program wrote it, and not in full.
    #[error("cannot read {}: {source}", path.display())]
    Import {
        /// The file that was named.
        path: PathBuf,
        /// What is wrong with it.
        source: ImportError,
    },
}

/// What other programs write that is read.
const READ_OF_OTHERS: &str = "of other programs, files of cyclictest, jitterdebugger, rtla, oslat, stress-ng, OSADL, HdrHistogram, schbench, runqlat, hyperfine and wrk are read";

/// What to do about a file that is no recording of ours: it may be of another program.
pub fn hint(error: &ReadError) -> String {
    let hint = error.hint();
    match error {
        ReadError::Empty { .. } | ReadError::NotARecording { .. } => format!("{hint}; {READ_OF_OTHERS}"),
        _ => hint,
    }
}

impl NotRead {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => hint(error),
            Self::Sources(error) => error.hint().to_owned(),
            Self::NoRecordings { .. } => {
                "recordings in a folder end in `.jsonl`; name other files one by one".to_owned()
            }
            Self::Timeline { .. } => "open it in ui.perfetto.dev".to_owned(),
            Self::Page { .. } => {
                "open it in a browser; `howlate show` reads the recording that it was made of".to_owned()
            }
            Self::Program { path } => format!("to watch it: `howlate watch -- {}`", shell_path(path)),
            Self::Import { path, source } => {
                source.remedy(&shell_path(path)).unwrap_or_else(|| READ_OF_OTHERS.to_owned())
            }
        }
    }
}
