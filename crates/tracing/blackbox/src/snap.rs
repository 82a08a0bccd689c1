//! Asks whoever records to keep what all CPUs have done just now.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use howlate_linux::clock;
use howlate_model::Span;
use howlate_recording::recorder_of;
use rustix::process::{Pid, Signal, kill_process};

/// How long a recorder is waited for, and how often is looked.
const LOOKS: u32 = 100;
const EVERY: Span = Span::from_millis(50);

/// Why nothing was kept.
#[derive(Debug, thiserror::Error)]
pub enum NotSnapped {
    /// Nobody would.
    #[error("nobody records to {}", path.display())]
    NobodyRecords {
        /// The folder that was named.
        path: PathBuf,
    },
    /// Whoever would cannot be asked, or does not do it.
    #[error("process {pid}, which records, cannot be asked: {source}")]
    NotAsked {
        /// Its process.
        pid: i32,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// Has the recorder of a folder keep it; returns the file.
///
/// # Errors
///
/// When nobody records there, or does as asked.
pub fn snap(folder: &Path) -> Result<PathBuf, NotSnapped> {
    let nobody = || NotSnapped::NobodyRecords { path: folder.to_owned() };
    let pid =
        recorder_of(folder).and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).ok_or_else(nobody)?;
    let before = snaps(folder);
    let failed = |source: io::Error| NotSnapped::NotAsked { pid: pid.as_raw_nonzero().get(), source };
    kill_process(pid, Signal::USR2).map_err(|error| failed(error.into()))?;
    for _ in 0..LOOKS {
        drop(clock::pause(EVERY));
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
