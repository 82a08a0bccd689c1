//! `/dev/shm/cyclictest<pid>`: where `SIGUSR2` leaves the status, for `get_cyclictest_snapshot`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The file, removed when dropped.
pub(crate) struct StatusFile {
    path: PathBuf,
    file: File,
}

impl StatusFile {
    /// Makes the file. One that a process of the same id left behind is replaced; a link is not followed.
    pub(crate) fn create() -> io::Result<Self> {
        let path = PathBuf::from(format!("/dev/shm/cyclictest{}", std::process::id()));
        drop(fs::remove_file(&path));
        let file = File::create_new(&path)?;
        Ok(Self { path, file })
    }

    /// Puts `text` in place of what was there. Readers may come at any time, so it is never empty.
    pub(crate) fn store(&self, text: &str) -> io::Result<()> {
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        // It may have been removed already.
        drop(fs::remove_file(&self.path));
    }
}
