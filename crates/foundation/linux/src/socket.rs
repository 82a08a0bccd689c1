//! Credentials of a socket's peer, and the loopback interface.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::net::{AddressFamily, SocketType, socket};

/// The process that connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// 0 where it is in a PID namespace that this process does not see.
    pub pid: u32,
    pub uid: u32,
}

/// `getsockopt(SO_PEERCRED)`: the peer's credentials as they were when it connected.
///
/// # Errors
///
/// When it is no Unix socket.
///
/// Source: <https://man7.org/linux/man-pages/man7/unix.7.html>
pub fn peer_of(socket: impl AsFd) -> io::Result<Peer> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&credentials)).unwrap_or(0);
    let descriptor = socket.as_fd().as_raw_fd();
    let (to, length) = ((&raw mut credentials).cast(), &raw mut length);
    // SAFETY: the call writes at most `length` bytes to `credentials`; both outlive it.
    let result = unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_PEERCRED, to, length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Peer { pid: u32::try_from(credentials.pid).unwrap_or(0), uid: credentials.uid })
}

/// `ioctl(SIOCSIFFLAGS, {"lo", IFF_UP})`: makes 127.0.0.1 reachable; a freshly booted kernel leaves `lo` down.
///
/// # Errors
///
/// `EPERM` without `CAP_NET_ADMIN`; `ENODEV` on a kernel without networking.
///
/// Source: <https://man7.org/linux/man-pages/man7/netdevice.7.html>
pub fn bring_loopback_up() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: UP },
    };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    // SAFETY: `request` is a valid ifreq with a name that ends in a zero, and outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `IFF_UP` in the type of `ifr_flags`.
#[allow(clippy::cast_possible_truncation, reason = "it is 1")]
const UP: i16 = libc::IFF_UP as i16;

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    #[test]
    fn both_ends_of_a_pair_are_this_process() {
        let (left, right) = UnixStream::pair().unwrap();
        for end in [left, right] {
            assert_eq!(super::peer_of(end).unwrap().pid, std::process::id());
        }
        assert!(super::peer_of(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
