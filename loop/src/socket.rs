//! A connection to whoever records, and what is sent over it. Nothing here waits.

#![allow(unsafe_code, reason = "the standard library has no sockets of this kind, and hands no files on")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::layout::COMM;

/// Room for one file in a message's control data, aligned as a `cmsghdr`: more than `CMSG_SPACE(4)`.
const WITH: usize = 8;

/// `connect(2)` to this place. `None`: nobody listens there, or too many ask.
pub(crate) fn connect(place: &[u8]) -> Option<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes no memory.
    let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if socket < 0 {
        return None;
    }
    // SAFETY: it was just opened, and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: of plain numbers, for which 0 is a value.
    let mut at: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    at.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).ok()?;
    if place.is_empty() || place.len() >= at.sun_path.len() {
        return None;
    }
    at.sun_path
        .iter_mut()
        .zip(place)
        .for_each(|(letter, byte)| *letter = libc::c_char::from_ne_bytes([*byte]));
    let length = libc::socklen_t::try_from(size_of_val(&at)).ok()?;
    // SAFETY: `at` is an address of that length, and lives on.
    let connected = unsafe { libc::connect(socket.as_raw_fd(), (&raw const at).cast(), length) };
    (connected == 0).then_some(socket)
}

/// `sendmsg(2)`, with a file where there is one; whether it was taken.
pub(crate) fn send(to: &OwnedFd, what: &mut [u8], file: Option<RawFd>) -> bool {
    let mut part = libc::iovec { iov_base: what.as_mut_ptr().cast(), iov_len: what.len() };
    let mut with = [0_u64; WITH];
    // SAFETY: of plain numbers and pointers, for which 0 is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    if let Some(file) = file {
        message.msg_control = with.as_mut_ptr().cast();
        // SAFETY: the call computes a length.
        let room = unsafe { libc::CMSG_SPACE(4) };
        message.msg_controllen = room.try_into().unwrap_or(0);
        put(&message, file);
    }
    // SAFETY: all that `message` points to lives on.
    unsafe { libc::sendmsg(to.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) >= 0 }
}

/// Puts a file into the control data of a message, which has room for it.
fn put(message: &libc::msghdr, file: RawFd) {
    // SAFETY: the control data is longer than a head.
    let head = unsafe { libc::CMSG_FIRSTHDR(ptr::from_ref(message)) };
    // SAFETY: the call computes a length.
    let length = unsafe { libc::CMSG_LEN(4) };
    // SAFETY: it lies in the control data, which is aligned for it and borrowed by nobody.
    let head = unsafe { &mut *head };
    (head.cmsg_level, head.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
    head.cmsg_len = length.try_into().unwrap_or(0);
    // SAFETY: what follows the head lies in the control data.
    let place: *mut RawFd = unsafe { libc::CMSG_DATA(head) }.cast();
    // SAFETY: it has room for a number, wherever that is aligned.
    unsafe { place.write_unaligned(file) };
}

/// `prctl(PR_GET_NAME)`: what this thread is called.
pub(crate) fn thread_name() -> [u8; COMM] {
    let mut name = [0_u8; COMM];
    // SAFETY: the call writes 16 bytes, which `name` has.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}
