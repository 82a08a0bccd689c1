//! `eventfd(2)`: the counter is incremented for each message.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;

pub(crate) struct EventfdChannel;

pub(crate) struct EventfdEnd {
    direction: Direction,
    pub(super) descriptor: OwnedFd,
}

impl EventfdEnd {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { direction: endpoint.direction.clone(), descriptor: endpoint.descriptor()? })
    }
}

impl Channel for EventfdChannel {
    type Sender = EventfdEnd;
    type Receiver = EventfdEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok(Endpoints::new(descriptor.try_clone()?, descriptor))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<EventfdEnd> {
        EventfdEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<EventfdEnd> {
        EventfdEnd::new(endpoint)
    }
}

impl Notify for EventfdEnd {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.direction.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        write(&self.descriptor, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

impl Await for EventfdEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        read(&self.descriptor, &mut [0; 8])?;
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        self.direction.announced().load(Ordering::Acquire)
    }
}
