//! The receiver, as seen from the process that measures.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;

use howlate_linux::shared_memory::SharedMemory;
use howlate_linux::signal;
use howlate_model::Span;

use super::control;
use super::helper;
use super::receiver::{Orders, RECEIVER, Receiving, Report};

/// A receiver under way.
pub(super) enum ReceiverHandle {
    /// A process; killed on drop.
    Process { child: Child, control: OwnedFd },
    /// A thread of this process.
    Thread { reports: Receiver<Report> },
}

impl ReceiverHandle {
    /// Starts this program again as the receiver.
    pub(super) fn process(orders: &Orders, memory: &OwnedFd, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let (control, theirs) = control::pair()?;
        let other = Self::Process { child: helper::start(RECEIVER, theirs)?, control };
        let mut all = vec![memory.as_fd()];
        all.extend(descriptors.iter().map(AsFd::as_fd));
        if let Self::Process { control, .. } = &other {
            control::send(control, orders, &all).map_err(died)?;
        }
        Ok(other)
    }

    /// Starts a thread as the receiver.
    pub(super) fn thread(
        orders: Orders,
        memory: &Arc<SharedMemory>,
        descriptors: Vec<OwnedFd>,
        memory_locked: bool,
    ) -> io::Result<Self> {
        let (to_us, reports) = channel();
        // An observer that gave up has no use for a report.
        let tell = move |report: Report| drop(to_us.send(report));
        let memory = Arc::clone(memory);
        let receiving = Receiving { orders, memory, descriptors, memory_locked, tell };
        Builder::new().name("howlate-receiver".into()).spawn(move || receiving.run())?;
        Ok(Self::Thread { reports })
    }

    /// The next report; `None` when none comes within `patience`.
    ///
    /// # Errors
    ///
    /// When the receiver is gone, or says that it cannot go on.
    pub(super) fn report(&self, patience: Span) -> io::Result<Option<Report>> {
        let report = match self {
            Self::Process { control, .. } if !control::comes_within(control, patience)? => return Ok(None),
            Self::Process { control, .. } => control::receive(control).map(|(report, _)| report),
            Self::Thread { reports } => match reports.recv_timeout(patience.into()) {
                Ok(report) => Ok(report),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        };
        match report {
            Ok(Report::Failed { reason }) => Err(io::Error::other(format!("the receiver failed: {reason}"))),
            Ok(report) => Ok(Some(report)),
            Err(error) => Err(died(error)),
        }
    }

    /// How the receiver's process ended; empty while it lives.
    pub(super) fn status(&mut self) -> String {
        match self {
            Self::Process { child, .. } => {
                child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
            }
            Self::Thread { .. } => String::new(),
        }
    }

    /// Makes a wait of the receiver return.
    pub(super) fn wake_up(&self, tid: u32) {
        if matches!(self, Self::Thread { .. }) {
            drop(signal::wake_up(tid));
        }
    }
}

/// A process that can be neither told nor heard is gone.
fn died(_: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the receiver died")
}

impl Drop for ReceiverHandle {
    fn drop(&mut self) {
        if let Self::Process { child, .. } = self {
            // It has nothing to clean up: its memory and descriptors go with it.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
