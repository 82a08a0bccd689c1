//! A futex, waited on and woken through `io_uring(7)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::uring::FutexRing;

use super::futex::number;
use crate::notify::channel::{Await, Channel, Endpoint, Notify};
use crate::notify::shared::Direction;

pub(crate) struct IoUringChannel;

pub(crate) struct IoUringEnd {
    direction: Direction,
    ring: FutexRing,
    seen: u32,
}

impl IoUringEnd {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        let direction = endpoint.direction;
        let ring =
            FutexRing::new(direction.memory.clone(), direction.futex_index(), direction.crosses_processes())?;
        Ok(Self { direction, ring, seen: 0 })
    }
}

impl Channel for IoUringChannel {
    type Sender = IoUringEnd;
    type Receiver = IoUringEnd;

    fn receiver(endpoint: Endpoint) -> io::Result<IoUringEnd> {
        IoUringEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<IoUringEnd> {
        IoUringEnd::new(endpoint)
    }
}

impl Notify for IoUringEnd {
    #[allow(clippy::cast_possible_truncation, reason = "a turn has fewer messages than a word has values")]
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        self.direction.futex().store(number as u32, Ordering::Release);
        self.ring.wake()
    }
}

impl Await for IoUringEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let now = self.direction.futex().load(Ordering::Acquire);
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
