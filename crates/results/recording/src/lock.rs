//! File locks: only one run writes a recording.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Locks the recording at `path` while the returned file is open.
///
/// # Errors
///
/// `ResourceBusy` when another process holds it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        lock(&file)?;
        // The file may have been replaced between opening and locking.
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
        // File systems without locks cannot tell.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Current path of an open file; `None` if it was removed.
pub(crate) fn path_of(file: &File) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    Some(path.to_string_lossy().into_owned()).filter(|_| is_at(file, &path))
}

/// Whether `path` is this file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let here = file.metadata().map(id);
    here.is_ok_and(|here| path.metadata().map(id).is_ok_and(|other| other == here))
}
