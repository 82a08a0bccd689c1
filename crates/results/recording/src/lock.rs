//! One run writes a recording at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Locks the recording at `path` as long as what is returned is open.
///
/// # Errors
///
/// `ResourceBusy` when another process holds it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        lock(&file)?;
        // Rewritten between opening and locking, it is another file by now.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Locks an open recording.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::ResourceBusy.into()),
        // A file system without locks has no way to tell.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Where an open file is by now; `None` for one that was removed.
pub(crate) fn path_of(file: &File) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    Some(path.to_string_lossy().into_owned()).filter(|_| is_at(file, &path))
}

/// Whether `path` still leads to this file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: std::fs::Metadata| (found.dev(), found.ino());
    let here = file.metadata().map(id);
    here.is_ok_and(|here| path.metadata().map(id).is_ok_and(|there| there == here))
}
