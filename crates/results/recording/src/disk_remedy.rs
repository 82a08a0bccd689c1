//! What to do where a disk refuses to be written to.

use std::io;

use rustix::io::Errno;

/// `None` where the reason is not the disk's.
pub(crate) fn disk_remedy(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::NOSPC => "make room there, or choose a path on another disk",
        Errno::DQUOT => "your quota is used up: remove files, or choose a path on another disk",
        Errno::IO => "the disk there fails, and `dmesg` says how: choose a path on another disk",
        Errno::ROFS => {
            "the file system there is read-only, which it also becomes when its disk fails (`dmesg`): choose a path on another disk"
        }
        _ => return None,
    })
}
