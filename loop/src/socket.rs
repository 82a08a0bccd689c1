//! The non-blocking Unix socket to a recorder.

#![allow(
    unsafe_code,
    reason = "the standard library has no sockets of this kind, and passes no file descriptors"
)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::layout::COMM;

/// Words of control data for one file descriptor, aligned as a `cmsghdr`: more than `CMSG_SPACE(4)` bytes.
const CONTROL_WORDS: usize = 8;

/// `connect(2)` to this path. `None` if no recorder listens there, or its backlog is full.
pub(crate) fn connect(path: &[u8]) -> Option<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes no memory.
    let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if socket < 0 {
        return None;
    }
    // SAFETY: it was just opened, and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the struct holds only integers, for which 0 is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).ok()?;
    if path.is_empty() || path.len() >= address.sun_path.len() {
        return None;
    }
    address
        .sun_path
        .iter_mut()
        .zip(path)
        .for_each(|(target, byte)| *target = libc::c_char::from_ne_bytes([*byte]));
    let length = libc::socklen_t::try_from(size_of_val(&address)).ok()?;
    // SAFETY: `address` is an address of that length, and lives on.
    let connected = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    (connected == 0).then_some(socket)
}

/// `sendmsg(2)`, with a file descriptor if given; whether the message was sent.
pub(crate) fn send(socket: &OwnedFd, bytes: &mut [u8], file: Option<RawFd>) -> bool {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: the struct holds only integers and pointers, for which 0 is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    if let Some(file) = file {
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: the call computes a length.
        let room = unsafe { libc::CMSG_SPACE(4) };
        message.msg_controllen = room.try_into().unwrap_or(0);
        attach(&message, file);
    }
    // SAFETY: all that `message` points to lives on.
    unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) >= 0 }
}

/// Writes a file descriptor into the control data of a message, which has room for it.
fn attach(message: &libc::msghdr, file: RawFd) {
    // SAFETY: the control data is longer than a header.
    let header = unsafe { libc::CMSG_FIRSTHDR(ptr::from_ref(message)) };
    // SAFETY: the call computes a length.
    let length = unsafe { libc::CMSG_LEN(4) };
    // SAFETY: it lies in the control data, which is aligned for it and not borrowed elsewhere.
    let header = unsafe { &mut *header };
    (header.cmsg_level, header.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
    header.cmsg_len = length.try_into().unwrap_or(0);
    // SAFETY: the data behind the header lies in the control data.
    let place: *mut RawFd = unsafe { libc::CMSG_DATA(header) }.cast();
    // SAFETY: it has room for a descriptor; the write needs no alignment.
    unsafe { place.write_unaligned(file) };
}

/// `prctl(PR_GET_NAME)`
pub(crate) fn thread_name() -> [u8; COMM] {
    let mut name = [0_u8; COMM];
    // SAFETY: the call writes 16 bytes, which `name` has.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}
