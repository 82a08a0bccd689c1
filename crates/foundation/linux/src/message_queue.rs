//! POSIX message queues.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// `mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, …)` and `mq_unlink(name)`: a queue of 8-byte
/// messages whose name is removed at once. `name` begins with a slash.
///
/// # Errors
///
/// `ENOSYS` without `CONFIG_POSIX_MQUEUE`, `EMFILE` at the limit `RLIMIT_MSGQUEUE`, `EEXIST`.
///
/// Source: <https://man7.org/linux/man-pages/man3/mq_open.3.html>
pub fn create_unlinked(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: an all-zero mq_attr is valid; the fields that matter are set below.
    let mut attributes: libc::mq_attr = unsafe { MaybeUninit::zeroed().assume_init() };
    attributes.mq_maxmsg = 8;
    attributes.mq_msgsize = 8;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the name ends in a zero byte; mode and attributes follow as O_CREAT requires.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600, &raw const attributes) };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the name ends in a zero byte.
    unsafe { libc::mq_unlink(name.as_ptr()) };
    // SAFETY: on Linux a queue descriptor is a file descriptor; this one is new, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(queue) })
}

/// `mq_send(queue, message, 8, 0)`.
///
/// Source: <https://man7.org/linux/man-pages/man3/mq_send.3.html>
///
/// # Errors
///
/// `Interrupted` when a signal handler ran while the queue was full.
#[inline]
pub fn send(queue: impl AsFd, message: [u8; 8]) -> io::Result<()> {
    let queue = queue.as_fd().as_raw_fd();
    // SAFETY: the message has the length that is passed and outlives the call.
    let result = unsafe { libc::mq_send(queue, message.as_ptr().cast(), message.len(), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `mq_receive(queue, …)`.
///
/// Source: <https://man7.org/linux/man-pages/man3/mq_receive.3.html>
///
/// # Errors
///
/// `Interrupted` when a signal handler ran.
#[inline]
pub fn receive(queue: impl AsFd) -> io::Result<[u8; 8]> {
    let mut message = [0_u8; 8];
    let queue = queue.as_fd().as_raw_fd();
    // SAFETY: the buffer has the length that is passed, which is the queue's message size.
    let got = unsafe { libc::mq_receive(queue, message.as_mut_ptr().cast(), message.len(), ptr::null_mut()) };
    if got >= 0 { Ok(message) } else { Err(io::Error::last_os_error()) }
}
