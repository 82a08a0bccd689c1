//! Files that are opened in a special way.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// `open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)`: reading it fails with `WouldBlock` where there is nothing to read.
///
/// # Errors
///
/// Those of the kernel.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(open(path, flags, Mode::empty())?))
}
