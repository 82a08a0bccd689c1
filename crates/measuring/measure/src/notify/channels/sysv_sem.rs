//! A System V semaphore: `semop(2)` up and down.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::sysv::change_semaphore;

use crate::notify::channel::{Await, Channel, Endpoint, Endpoints, Notify};
use crate::notify::shared::Direction;
use crate::notify::sysv_cleanup::{SysvCleanup, SysvKind};

pub(crate) struct SysvSemChannel;

pub(crate) struct SysvSemEnd {
    id: i32,
    direction: Direction,
}

impl SysvSemEnd {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        Ok(Self { id: endpoint.id()?, direction: endpoint.direction })
    }
}

impl Channel for SysvSemChannel {
    type Sender = SysvSemEnd;
    type Receiver = SysvSemEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        Ok(Endpoints { sysv_cleanup: Some(SysvCleanup::start(SysvKind::Semaphore)?), ..Endpoints::default() })
    }

    fn receiver(endpoint: Endpoint) -> io::Result<SysvSemEnd> {
        SysvSemEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<SysvSemEnd> {
        SysvSemEnd::new(endpoint)
    }
}

impl Notify for SysvSemEnd {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.direction.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        change_semaphore(self.id, 1)
    }
}

impl Await for SysvSemEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        change_semaphore(self.id, -1)
    }

    #[inline]
    fn number(&self) -> u64 {
        self.direction.announced().load(Ordering::Acquire)
    }
}
