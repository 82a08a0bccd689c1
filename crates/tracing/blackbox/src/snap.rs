//! Asks a running recorder to write the timelines of all CPUs.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use howlate_linux::clock;
use howlate_model::Span;
use howlate_recording::recorder_of;
use rustix::process::{Pid, Signal, kill_process};

/// Number and interval of checks for the file.
const LOOKS: u32 = 100;
const EVERY: Span = Span::from_millis(50);

/// Why no timeline was written.
#[derive(Debug, thiserror::Error)]
pub enum SnapError {
    /// No process records there.
    #[error("nobody records to {}", path.display())]
    NoRecorder { path: PathBuf },
    /// The signal cannot be sent, or no file appears.
    #[error("process {pid}, which records, cannot be asked: {source}")]
    SignalFailed { pid: i32, source: io::Error },
}

/// Signals the recorder of `folder` and returns the new file.
///
/// # Errors
///
/// When no process records there, or the file does not appear.
pub fn snap(folder: &Path) -> Result<PathBuf, SnapError> {
    let no_recorder = || SnapError::NoRecorder { path: folder.to_owned() };
    let pid = recorder_of(folder)
        .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .ok_or_else(no_recorder)?;
    let before = snaps(folder);
    let failed = |source: io::Error| SnapError::SignalFailed { pid: pid.as_raw_nonzero().get(), source };
    kill_process(pid, Signal::USR2).map_err(|error| failed(error.into()))?;
    for _ in 0..LOOKS {
        drop(clock::sleep_for(EVERY));
        if let Some(new) = snaps(folder).difference(&before).next() {
            return Ok(new.clone());
        }
    }
    Err(failed(io::Error::new(io::ErrorKind::TimedOut, "it has kept nothing within 5 s")))
}

fn snaps(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with("-snap.trace.json"))
        .collect()
}
