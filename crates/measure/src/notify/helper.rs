//! Starting this program again, as a helper process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// What a helper is to be: its first argument.
pub(super) const RECEIVER: &str = "__receiver";
pub(super) const JANITOR: &str = "__janitor";

/// This program, even when its file was replaced meanwhile. Source: proc_pid_exe(5).
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Starts a helper with one end of a control socket as its standard input.
pub(super) fn helper(role: &str, control: OwnedFd) -> io::Result<Child> {
    Command::new(THIS_PROGRAM)
        .arg(role)
        .stdin(Stdio::from(control))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C goes to the whole group; this process decides when its helpers end.
        .process_group(0)
        .spawn()
}
