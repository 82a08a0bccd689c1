//! `--fifo`: a named pipe from which each reader gets the current statistics.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use howlate_linux::{clock, signal};
use howlate_model::Span;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Time for a reader to see the end of file before the pipe is opened again.
const PAUSE: Span = Span::from_millis(20);

/// The sticky bit, which has no meaning on a pipe, marks pipes that howlate created.
const CREATED_MARK: u32 = 0o1000;

/// The pipe and the text for its next reader. Dropping it removes the pipe if it was created here.
pub(crate) struct Fifo {
    /// `None` if the pipe existed before.
    created: Option<PathBuf>,
    text: Arc<Mutex<String>>,
}

impl Fifo {
    /// Creates the pipe or uses an existing one, and serves readers in a thread.
    pub(crate) fn serve(path: &Path) -> io::Result<Self> {
        if is_left_behind(path) {
            drop(fs::remove_file(path));
        }
        let created = match mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0) {
            Ok(()) => Some(path.to_owned()),
            Err(error) if error == rustix::io::Errno::EXIST && is_fifo(path) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(path) = &created {
            let mode = fs::symlink_metadata(path)?.mode();
            fs::set_permissions(path, fs::Permissions::from_mode(mode | CREATED_MARK))?;
        }
        let text = Arc::new(Mutex::new(String::new()));
        let (shared, path) = (Arc::clone(&text), path.to_owned());
        std::thread::Builder::new().name("fifo".into()).spawn(move || serve(&path, &shared))?;
        Ok(Self { created, text })
    }

    /// Sets the text for the next reader.
    pub(crate) fn set_text(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        if let Some(path) = &self.created {
            drop(fs::remove_file(path));
        }
    }
}

/// Whether a killed run of this user left the pipe behind.
fn is_left_behind(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|metadata| {
        metadata.file_type().is_fifo()
            && metadata.mode() & CREATED_MARK == CREATED_MARK
            && metadata.uid() == user
    })
}

fn is_fifo(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Writes the text to one reader after the other, until the process ends. Opening blocks until there is a reader.
fn serve(path: &Path, text: &Mutex<String>) {
    // The main thread handles signals.
    signal::block_all_but_wake_up();
    while let Ok(mut pipe) = File::options().write(true).open(path) {
        let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        drop(pipe.write_all(text.as_bytes()));
        drop(pipe);
        drop(clock::sleep_for(PAUSE));
    }
}
