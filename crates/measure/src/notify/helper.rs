//! The helper processes of notifications: this program, started again.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use howlate_linux::helper::{Helper, Lifetime};

use super::{janitor, receiver};

/// The receiver: nothing of it is worth keeping.
pub(super) const RECEIVER: Helper =
    Helper { role: "__receiver", lifetime: Lifetime::OfParent, serve: |_| receiver::serve_process() };
/// Makes a System V id, and removes it at its end.
pub(super) const JANITOR: Helper =
    Helper { role: "__janitor", lifetime: Lifetime::OfInput, serve: |_| janitor::serve() };

/// Every helper process that measuring needs.
pub const HELPERS: [Helper; 2] = [RECEIVER, JANITOR];

/// Starts a helper with one end of a control socket as its standard input.
pub(super) fn start(helper: Helper, control: OwnedFd) -> io::Result<Child> {
    let quiet = || Stdio::null();
    helper.command([]).stdin(Stdio::from(control)).stdout(quiet()).stderr(quiet()).spawn()
}
