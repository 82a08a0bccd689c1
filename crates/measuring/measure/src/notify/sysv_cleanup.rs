//! A helper process that removes a System V id, however this process ends.
//!
//! System V ids outlive the processes that use them, and they cannot be removed while in use.
//! So the helper makes the id, and removes it when its end of a socket says that nobody needs
//! it any more: on purpose, or because the kernel closed it with a killed process.

use std::io::{self, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::signal;
use howlate_linux::sysv::SysvId;
use howlate_model::Span;

use super::control;
use super::helper;

/// Makes a System V id, and removes it at its end.
pub(super) const JANITOR: Helper =
    Helper { role: "__janitor", name: c"howlate-janitor", lifetime: Lifetime::OfInput, serve: |_| serve() };

/// What the id is of.
#[derive(Clone, Copy)]
pub(crate) enum SysvKind {
    Semaphore,
    Queue,
}

/// How long a janitor may take to make an id.
const PATIENCE: Span = Span::from_secs(5);

/// Keeps an id until dropped.
pub(crate) struct Janitor {
    id: i32,
    /// Closing it ends the helper's wait; `None` once closed.
    control: Option<OwnedFd>,
    helper: Child,
}

impl Janitor {
    /// Starts the helper, which makes the id.
    pub(crate) fn start(kind: SysvKind) -> io::Result<Self> {
        let (control, theirs) = control::pair()?;
        let helper = helper::start(JANITOR, theirs)?;
        let mut janitor = Self { id: -1, control: None, helper };
        control::send(&control, &matches!(kind, SysvKind::Queue), &[])?;
        if !control::comes_within(&control, PATIENCE)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let (made, _): (Result<i32, i32>, _) = control::receive(&control)?;
        janitor.id = made.map_err(io::Error::from_raw_os_error)?;
        janitor.control = Some(control);
        Ok(janitor)
    }

    /// The number of the id.
    pub(crate) const fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.control.take());
        // It only has to remove the id, so it is gone at once.
        drop(self.helper.wait());
    }
}

fn make(queue: bool) -> io::Result<SysvId> {
    if queue { SysvId::new_queue() } else { SysvId::new_semaphore() }
}

/// The helper: makes the id, waits until nobody needs it, removes it.
fn serve() -> io::Result<()> {
    signal::block_all_but_wake_up();
    let control = stdin().as_fd().try_clone_to_owned()?;
    let (queue, _): (bool, _) = control::receive(&control)?;
    let made = make(queue);
    let said = match &made {
        Ok(id) => Ok(id.number()),
        Err(error) => Err(error.raw_os_error().unwrap_or_default()),
    };
    control::send(&control, &said, &[])?;
    // Nothing is ever sent: this returns at the end of the other side.
    let ended: io::Result<(bool, _)> = control::receive(&control);
    drop((ended, made));
    Ok(())
}
