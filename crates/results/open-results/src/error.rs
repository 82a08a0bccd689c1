//! Errors of opening results, with remedies.

use std::path::PathBuf;

use howlate_import::ImportError;
use howlate_model::shell_path;
use howlate_recording::{ReadError, SourceError};

/// Errors of opening results, with remedies.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not a recording, or a damaged one.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Several recordings that cannot be merged.
    #[error(transparent)]
    Sources(#[from] SourceError),
    /// A folder or pattern without recordings.
    #[error("there is no recording in {}", path.display())]
    NoRecordings { path: PathBuf },
    #[error("{} is a timeline of all CPUs, not a recording", path.display())]
    Timeline { path: PathBuf },
    #[error("{} is a page of howlate, not a recording", path.display())]
    Page { path: PathBuf },
    /// A program, which can only be watched.
    #[error("{} is a program, not a recording", path.display())]
    Program { path: PathBuf },
    /// A damaged file of another program.
    #[error("cannot read {}: {source}", path.display())]
    Import { path: PathBuf, source: ImportError },
}

/// Supported files of other programs.
const SUPPORTED_FORMATS: &str = "of other programs, files of cyclictest, jitterdebugger, rtla, oslat, stress-ng, OSADL, HdrHistogram, schbench, runqlat, hyperfine and wrk are read";

/// Advice for files that are not recordings: they may be of another program.
pub fn hint(error: &ReadError) -> String {
    let hint = error.hint();
    match error {
        ReadError::Empty { .. } | ReadError::NotARecording { .. } => format!("{hint}; {SUPPORTED_FORMATS}"),
        _ => hint,
    }
}

impl OpenError {
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
                source.remedy(&shell_path(path)).unwrap_or_else(|| SUPPORTED_FORMATS.to_owned())
            }
        }
    }
}
