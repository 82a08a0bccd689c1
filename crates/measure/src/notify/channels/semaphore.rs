//! A POSIX semaphore: `sem_post(3)` and `sem_wait(3)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::semaphore;

use crate::notify::channel::{Await, Channel, Ends, Kit, Notify};
use crate::notify::lane::Lane;

pub(crate) struct Semaphore;

pub(crate) struct End {
    lane: Lane,
    semaphore: semaphore::Semaphore,
}

impl End {
    fn new(kit: Kit) -> Self {
        let semaphore = semaphore::Semaphore::attach(kit.lane.memory.clone(), kit.lane.number);
        Self { lane: kit.lane, semaphore }
    }
}

impl Channel for Semaphore {
    type Sender = End;
    type Receiver = End;

    fn make(lane: &Lane) -> io::Result<Ends> {
        semaphore::Semaphore::init(&lane.memory, lane.number, lane.crosses_processes())?;
        Ok(Ends::default())
    }

    fn receiver(kit: Kit) -> io::Result<End> {
        Ok(End::new(kit))
    }

    fn sender(kit: Kit) -> io::Result<End> {
        Ok(End::new(kit))
    }
}

impl Notify for End {
    #[inline]
    fn prepare(&mut self, number: u64) {
        self.lane.announce(number);
    }

    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        self.semaphore.post()
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        self.semaphore.wait()
    }

    #[inline]
    fn number(&self) -> u64 {
        self.lane.announced().load(Ordering::Acquire)
    }
}
