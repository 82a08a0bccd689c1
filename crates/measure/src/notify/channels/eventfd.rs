//! `eventfd(2)`: the counter goes up by one for each message.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

use crate::notify::channel::{Await, Channel, Ends, Kit, Notify};
use crate::notify::lane::Lane;

pub(crate) struct Eventfd;

pub(crate) struct End {
    lane: Lane,
    pub(super) descriptor: OwnedFd,
}

impl End {
    fn new(kit: Kit) -> io::Result<Self> {
        Ok(Self { lane: kit.lane.clone(), descriptor: kit.descriptor()? })
    }
}

impl Channel for Eventfd {
    type Sender = End;
    type Receiver = End;

    fn make(_: &Lane) -> io::Result<Ends> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok(Ends::of(descriptor.try_clone()?, descriptor))
    }

    fn receiver(kit: Kit) -> io::Result<End> {
        End::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<End> {
        End::new(kit)
    }
}

impl Notify for End {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.lane.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        write(&self.descriptor, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        read(&self.descriptor, &mut [0; 8])?;
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        self.lane.announced().load(Ordering::Acquire)
    }
}
