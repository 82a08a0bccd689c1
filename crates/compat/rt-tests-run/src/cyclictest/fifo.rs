//! `--fifo`: a named pipe that gives each reader the current statistics.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use howlate_linux::{clock, signal};
use howlate_model::Span;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Time for a reader to notice the end before the next one is served.
const PAUSE: Span = Span::from_millis(20);

/// The sticky bit, which has no meaning on a pipe, marks those that were made here.
const MARK: u32 = 0o1000;

/// The pipe, with what its next reader gets. Removed when dropped, if it was made here.
pub(crate) struct Fifo {
    made: Option<PathBuf>,
    text: Arc<Mutex<String>>,
}

impl Fifo {
    /// Makes the pipe, or takes the one that is there, and serves readers from a thread of its own.
    pub(crate) fn serve(path: &Path) -> io::Result<Self> {
        if is_left_behind(path) {
            drop(fs::remove_file(path));
        }
        let made = match mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0) {
            Ok(()) => Some(path.to_owned()),
            Err(error) if error == rustix::io::Errno::EXIST && is_fifo(path) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(path) = &made {
            let mode = fs::symlink_metadata(path)?.mode();
            fs::set_permissions(path, fs::Permissions::from_mode(mode | MARK))?;
        }
        let text = Arc::new(Mutex::new(String::new()));
        let (shared, path) = (Arc::clone(&text), path.to_owned());
        std::thread::Builder::new().name("fifo".into()).spawn(move || serve(&path, &shared))?;
        Ok(Self { made, text })
    }

    /// What the next reader gets.
    pub(crate) fn set(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            drop(fs::remove_file(path));
        }
    }
}

/// Whether a killed run of ours has made it.
fn is_left_behind(path: &Path) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.file_type().is_fifo() && found.mode() & MARK == MARK && found.uid() == ours)
}

fn is_fifo(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opening waits for a reader, so this thread sleeps until there is one; it ends with the process.
fn serve(path: &Path, text: &Mutex<String>) {
    // Signals are for the main thread.
    signal::block_all_but_wake_up();
    while let Ok(mut pipe) = File::options().write(true).open(path) {
        let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        drop(pipe.write_all(text.as_bytes()));
        drop(pipe);
        drop(clock::sleep_for(PAUSE));
    }
}
