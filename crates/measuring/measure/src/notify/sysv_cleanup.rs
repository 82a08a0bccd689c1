//! A helper process that removes a System V id, however this process ends.
//!
//! System V ids outlive the processes that use them, and they cannot be removed while in use.
//! So the helper creates the id, and removes it when the other end of a socket is closed: on
//! purpose, or because the kernel closed it with a killed process.

use std::io::{self, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::signal;
use howlate_linux::sysv::SysvId;
use howlate_model::Span;

use super::control;

/// Creates a System V id, and removes it when it ends.
pub(super) const JANITOR: Helper =
    Helper { role: "__janitor", name: c"howlate-janitor", lifetime: Lifetime::OfInput, serve: |_| serve() };

#[derive(Clone, Copy)]
pub(crate) enum SysvKind {
    Semaphore,
    Queue,
}

/// How long the helper may take to create an id.
const CREATE_TIMEOUT: Span = Span::from_secs(5);

/// A System V id that exists until dropped.
pub(crate) struct SysvCleanup {
    id: i32,
    /// Closing it ends the helper's wait; `None` once closed.
    control: Option<OwnedFd>,
    helper: Child,
}

impl SysvCleanup {
    /// Starts the helper, which creates the id.
    pub(crate) fn start(kind: SysvKind) -> io::Result<Self> {
        let (control, helper_end) = control::pair()?;
        let helper = control::start_helper(JANITOR, helper_end)?;
        let mut sysv_cleanup = Self { id: -1, control: None, helper };
        control::send(&control, &matches!(kind, SysvKind::Queue), &[])?;
        if !control::arrives_within(&control, CREATE_TIMEOUT)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let (created, _): (Result<i32, i32>, _) = control::receive(&control)?;
        sysv_cleanup.id = created.map_err(io::Error::from_raw_os_error)?;
        sysv_cleanup.control = Some(control);
        Ok(sysv_cleanup)
    }

    pub(crate) const fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for SysvCleanup {
    fn drop(&mut self) {
        drop(self.control.take());
        // It only removes the id, so it ends at once.
        drop(self.helper.wait());
    }
}

fn create(queue: bool) -> io::Result<SysvId> {
    if queue { SysvId::new_queue() } else { SysvId::new_semaphore() }
}

/// The helper: creates the id, waits until it is not needed, removes it.
fn serve() -> io::Result<()> {
    signal::block_all_but_wake_up();
    let control = stdin().as_fd().try_clone_to_owned()?;
    let (queue, _): (bool, _) = control::receive(&control)?;
    let created = create(queue);
    let answer = match &created {
        Ok(id) => Ok(id.number()),
        Err(error) => Err(error.raw_os_error().unwrap_or_default()),
    };
    control::send(&control, &answer, &[])?;
    // No further message is sent: this returns when the other side closes the socket.
    let ended: io::Result<(bool, _)> = control::receive(&control);
    drop((ended, created));
    Ok(())
}
