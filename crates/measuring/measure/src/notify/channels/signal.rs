//! A queued real-time signal, waited for with `sigwaitinfo(2)`.

use std::io;

use howlate_linux::queued_signal::{QueuedSignal, queue};

use crate::notify::channel::{Await, Channel, Endpoint, Notify};

pub(crate) struct Signal;

/// Sends the signal to the thread that waits.
pub(crate) struct Sender {
    pid: u32,
    tid: u32,
    direction: usize,
}

impl Sender {
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        let (pid, tid) = endpoint.direction.registered();
        Self { pid, tid, direction: endpoint.direction.number }
    }
}

pub(crate) struct Receiver {
    signal: QueuedSignal,
    number: u64,
}

impl Channel for Signal {
    type Sender = Sender;
    type Receiver = Receiver;

    fn receiver(endpoint: Endpoint) -> io::Result<Receiver> {
        Ok(Receiver { signal: QueuedSignal::block(endpoint.direction.number), number: 0 })
    }

    fn sender(endpoint: Endpoint) -> io::Result<Sender> {
        Ok(Sender::new(&endpoint))
    }
}

impl Notify for Sender {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        queue(self.pid, self.tid, self.direction, number)
    }
}

impl Await for Receiver {
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
