//! A queued real-time signal, read from a `signalfd(2)`.

use std::io;
use std::os::fd::OwnedFd;

use howlate_linux::queued_signal::{QueuedSignal, READ_SIZE, read_value};

use super::signal::Sender;
use crate::notify::channel::{Await, Channel, Endpoint};

pub(crate) struct Signalfd;

pub(crate) struct Receiver {
    descriptor: OwnedFd,
    read: [u8; READ_SIZE],
}

impl Channel for Signalfd {
    type Sender = Sender;
    type Receiver = Receiver;

    fn receiver(endpoint: Endpoint) -> io::Result<Receiver> {
        let descriptor = QueuedSignal::block(endpoint.direction.number).descriptor()?;
        Ok(Receiver { descriptor, read: [0; READ_SIZE] })
    }

    fn sender(endpoint: Endpoint) -> io::Result<Sender> {
        Ok(Sender::new(&endpoint))
    }
}

impl Await for Receiver {
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
