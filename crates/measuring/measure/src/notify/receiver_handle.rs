//! The receiver as seen by the measuring process.

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
use super::receiver::{RECEIVER, ReceiverOrders, ReceiverReport, ReceiverSetup};

/// A running receiver.
pub(super) enum ReceiverHandle {
    /// A process; killed on drop.
    Process { child: Child, control: OwnedFd },
    /// A thread of this process.
    Thread { reports: Receiver<ReceiverReport> },
}

impl ReceiverHandle {
    /// Executes this program again as the receiver.
    pub(super) fn process(
        orders: &ReceiverOrders,
        memory: &OwnedFd,
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<Self> {
        let (control, receiver_end) = control::pair()?;
        let handle = Self::Process { child: control::start_helper(RECEIVER, receiver_end)?, control };
        let mut passed = vec![memory.as_fd()];
        passed.extend(descriptors.iter().map(AsFd::as_fd));
        if let Self::Process { control, .. } = &handle {
            control::send(control, orders, &passed).map_err(died)?;
        }
        Ok(handle)
    }

    /// Starts a thread as the receiver.
    pub(super) fn thread(
        orders: ReceiverOrders,
        memory: &Arc<SharedMemory>,
        descriptors: Vec<OwnedFd>,
        memory_locked: bool,
    ) -> io::Result<Self> {
        let (sender, reports) = channel();
        // Fails when the observer has given up.
        let report = move |message: ReceiverReport| drop(sender.send(message));
        let memory = Arc::clone(memory);
        let receiver = ReceiverSetup { orders, memory, descriptors, memory_locked, report };
        Builder::new().name("howlate-receiver".into()).spawn(move || receiver.run())?;
        Ok(Self::Thread { reports })
    }

    /// The next report; `None` when none arrives within `timeout`.
    ///
    /// # Errors
    ///
    /// When the receiver has ended, or reports a failure.
    pub(super) fn report(&self, timeout: Span) -> io::Result<Option<ReceiverReport>> {
        let report = match self {
            Self::Process { control, .. } if !control::arrives_within(control, timeout)? => return Ok(None),
            Self::Process { control, .. } => control::receive(control).map(|(report, _)| report),
            Self::Thread { reports } => match reports.recv_timeout(timeout.into()) {
                Ok(report) => Ok(report),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        };
        match report {
            Ok(ReceiverReport::Failed { reason }) => {
                Err(io::Error::other(format!("the receiver failed: {reason}")))
            }
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

/// A control socket fails only when the process has ended.
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
