//! Who is at the other end of a socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// A process that has connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number; 0 where this process does not see it, as it is in another container.
    pub pid: u32,
    /// Whose it is.
    pub uid: u32,
}

/// `getsockopt(SO_PEERCRED)`: who has connected, as the kernel saw it then.
///
/// # Errors
///
/// When it is no socket of this kind.
///
/// Source: <https://man7.org/linux/man-pages/man7/unix.7.html>
pub fn of(socket: impl AsFd) -> io::Result<Peer> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&found)).unwrap_or(0);
    let number = socket.as_fd().as_raw_fd();
    let (to, length) = ((&raw mut found).cast(), &raw mut length);
    // SAFETY: the call writes at most `length` bytes to `found`, both of which live on.
    let result = unsafe { libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_PEERCRED, to, length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Peer { pid: u32::try_from(found.pid).unwrap_or(0), uid: found.uid })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    #[test]
    fn both_ends_of_a_pair_are_this_process() {
        let (one, other) = UnixStream::pair().unwrap();
        for end in [one, other] {
            assert_eq!(super::of(end).unwrap().pid, std::process::id());
        }
        assert!(super::of(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
