//! Starting the helper processes of notifications.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use howlate_linux::helper::Helper;

/// Starts a helper with one end of a control socket as its standard input.
pub(super) fn start(helper: Helper, control: OwnedFd) -> io::Result<Child> {
    let quiet = || Stdio::null();
    helper.command([]).stdin(Stdio::from(control)).stdout(quiet()).stderr(quiet()).spawn()
}
