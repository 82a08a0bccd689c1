//! A System V semaphore: `semop(2)` up and down.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::sysv::change_semaphore;

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;
use crate::notify::sysv_cleanup::{Janitor, SysvKind};

pub(crate) struct SysvSem;

pub(crate) struct End {
    id: i32,
    direction: Direction,
}

impl End {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { id: endpoint.id()?, direction: endpoint.direction })
    }
}

impl Channel for SysvSem {
    type Sender = End;
    type Receiver = End;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        Ok(Endpoints { janitor: Some(Janitor::start(SysvKind::Semaphore)?), ..Endpoints::default() })
    }

    fn receiver(endpoint: Endpoint) -> io::Result<End> {
        End::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<End> {
        End::new(endpoint)
    }
}

impl Notify for End {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.direction.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        change_semaphore(self.id, 1)
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        change_semaphore(self.id, -1)
    }

    #[inline]
    fn number(&self) -> u64 {
        self.direction.announced().load(Ordering::Acquire)
    }
}
