//! A System V semaphore: `semop(2)` up and down.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::sysv::change_semaphore;

use crate::notify::channel::{Await, Channel, Ends, Kit, Notify};
use crate::notify::janitor::{Janitor, Kind};
use crate::notify::lane::Lane;

pub(crate) struct SysvSem;

pub(crate) struct End {
    id: i32,
    lane: Lane,
}

impl End {
    fn new(kit: Kit) -> io::Result<Self> {
        Ok(Self { id: kit.id()?, lane: kit.lane })
    }
}

impl Channel for SysvSem {
    type Sender = End;
    type Receiver = End;

    fn make(_: &Lane) -> io::Result<Ends> {
        Ok(Ends { janitor: Some(Janitor::start(Kind::Semaphore)?), ..Ends::default() })
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
        self.lane.announced().load(Ordering::Acquire)
    }
}
