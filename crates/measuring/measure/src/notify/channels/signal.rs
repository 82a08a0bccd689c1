//! A queued real-time signal, awaited with `sigwaitinfo(2)` or read from a `signalfd(2)`.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::queued_signal::{QueuedSignal, READ_SIZE, queue, read_value};

use crate::notify::channel::{Await, Channel, Endpoint, Notify};

pub(crate) struct SignalChannel;

/// Sends the signal to the waiting thread.
pub(crate) struct SignalSender {
    pid: u32,
    tid: u32,
    direction: usize,
}

impl SignalSender {
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        let (pid, tid) = endpoint.direction.registered();
        Self { pid, tid, direction: endpoint.direction.number }
    }
}

pub(crate) struct SignalReceiver {
    signal: QueuedSignal,
    number: u64,
}

impl Channel for SignalChannel {
    type Sender = SignalSender;
    type Receiver = SignalReceiver;

    fn receiver(endpoint: Endpoint) -> io::Result<SignalReceiver> {
        Ok(SignalReceiver { signal: QueuedSignal::block(endpoint.direction.number), number: 0 })
    }

    fn sender(endpoint: Endpoint) -> io::Result<SignalSender> {
        Ok(SignalSender::new(&endpoint))
    }
}

impl Notify for SignalSender {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        queue(self.pid, self.tid, self.direction, number)
    }
}

impl Await for SignalReceiver {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.number = self.signal.wait()?;
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        self.number
    }
}

pub(crate) struct SignalfdChannel;

pub(crate) struct SignalfdReceiver {
    descriptor: OwnedFd,
    read: [u8; READ_SIZE],
}

impl Channel for SignalfdChannel {
    type Sender = SignalSender;
    type Receiver = SignalfdReceiver;

    fn receiver(endpoint: Endpoint) -> io::Result<SignalfdReceiver> {
        let descriptor = QueuedSignal::block(endpoint.direction.number).descriptor()?;
        Ok(SignalfdReceiver { descriptor, read: [0; READ_SIZE] })
    }

    fn sender(endpoint: Endpoint) -> io::Result<SignalSender> {
        Ok(SignalSender::new(&endpoint))
    }
}

impl Await for SignalfdReceiver {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        rustix::io::read(&self.descriptor, &mut self.read)?;
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        read_value(&self.read)
    }
}
