//! A futex, waited on and woken through `io_uring(7)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::uring::FutexRing;

use super::futex::number;
use crate::notify::channel::{Await, Channel, Kit, Notify};
use crate::notify::lane::Lane;

pub(crate) struct IoUring;

pub(crate) struct End {
    lane: Lane,
    ring: FutexRing,
    seen: u32,
}

impl End {
    fn new(kit: Kit) -> io::Result<Self> {
        let lane = kit.lane;
        let ring = FutexRing::new(lane.memory.clone(), lane.futex_index(), lane.crosses_processes())?;
        Ok(Self { lane, ring, seen: 0 })
    }
}

impl Channel for IoUring {
    type Sender = End;
    type Receiver = End;

    fn receiver(kit: Kit) -> io::Result<End> {
        End::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<End> {
        End::new(kit)
    }
}

impl Notify for End {
    #[allow(clippy::cast_possible_truncation, reason = "a turn has fewer messages than a word has values")]
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        self.lane.futex().store(number as u32, Ordering::Release);
        self.ring.wake()
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let now = self.lane.futex().load(Ordering::Acquire);
            if now != self.seen {
                self.seen = now;
                return Ok(());
            }
            self.ring.wait(now)?;
        }
    }

    #[inline]
    fn number(&self) -> u64 {
        number(self.seen)
    }
}
