//! The loopback interface, which a freshly booted kernel leaves down.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// `ioctl(SIOCSIFFLAGS, {"lo", IFF_UP})`: lets 127.0.0.1 be reached.
///
/// # Errors
///
/// `EPERM` without `CAP_NET_ADMIN`; `ENODEV` on a kernel without networks.
///
/// Source: <https://man7.org/linux/man-pages/man7/netdevice.7.html>
pub fn loopback_up() -> io::Result<()> {
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

/// `IFF_UP` as the request has it.
#[allow(clippy::cast_possible_truncation, reason = "it is 1")]
const UP: i16 = libc::IFF_UP as i16;
