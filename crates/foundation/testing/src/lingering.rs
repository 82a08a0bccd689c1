//! A file whose closing waits.

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

/// A TCP connection with `SO_LINGER` that nobody reads from: whoever closes it last waits for an hour. The listener keeps it open.
///
/// # Errors
///
/// When this machine has no loopback network.
///
/// Source: <https://man7.org/linux/man-pages/man7/socket.7.html>
pub fn lingering_connection() -> io::Result<(TcpListener, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut stream = TcpStream::connect(listener.local_addr()?)?;
    set_socket_linger(&stream, Some(Duration::from_secs(3_600)))?;
    stream.set_nonblocking(true)?;
    while stream.write(&[0; 65_536]).is_ok() {}
    Ok((listener, stream))
}
