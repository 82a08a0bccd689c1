//! Helpers that tests of several crates share.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use tempfile::TempDir;

/// Prints why a test is skipped, and reports the skip to `cargo xtask test`.
pub fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let reason = reason.trim().replace('\n', "; ");
    // Not `eprintln!`: `cargo test` captures that in tests that pass.
    io::stderr().write_all(format!("skipped {test}: {reason}\n").as_bytes()).unwrap();
    if let Some(path) = std::env::var_os("HOWLATE_SKIPS") {
        let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
        // One write per line: the lines are counted, and other tests append at the same time.
        file.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}

/// A temporary folder that holds `files`, pairs of path and text.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(path, text)| write_below(folder.path(), path, text));
    folder
}

/// Writes a file below `folder`, and creates its parent folders.
pub fn write_below(folder: &Path, path: &str, text: &str) {
    let file = folder.join(path.trim_start_matches('/'));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A `sleep` process that is killed on drop, even when the test fails.
pub struct SleepProcess(pub Child);

impl SleepProcess {
    #[allow(clippy::new_without_default, reason = "it starts a process")]
    pub fn new() -> Self {
        Self(Command::new("sleep").arg("infinity").spawn().expect("sleep(1) is there"))
    }
}

impl Drop for SleepProcess {
    fn drop(&mut self) {
        self.0.kill().expect("it runs until it is killed");
        self.0.wait().expect("it is our child");
    }
}

/// A TCP connection with `SO_LINGER` and a full send buffer: its last close blocks for an hour. The listener keeps it open.
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
