//! `howlate snap`

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use howlate_linux::clock;
use howlate_model::Span;
use howlate_recording::recorder_of;
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::Snap;
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

/// How long a recorder is waited for, and how often is looked.
const LOOKS: u32 = 100;
const EVERY: Span = Span::from_millis(50);

pub(crate) fn run(asked: &Snap) -> Result<Status, Error> {
    let folder = &asked.folder;
    let nobody = || Error::NobodyRecords { path: folder.clone() };
    let pid =
        recorder_of(folder).and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).ok_or_else(nobody)?;
    let before = snaps(folder);
    let failed = |source: io::Error| Error::NotAsked { pid: pid.as_raw_nonzero().get(), source };
    kill_process(pid, Signal::USR2).map_err(|error| failed(error.into()))?;
    for _ in 0..LOOKS {
        drop(clock::pause(EVERY));
        if let Some(new) = snaps(folder).difference(&before).next() {
            terminal::print(&format!("{}\n", new.display()))?;
            return Ok(Status::Done);
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
