//! `futex(2)`: the sender stores the message's number and wakes; the receiver waits for a change.

use std::io;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait, wake};

use crate::notify::channel::{Await, Channel, Endpoint, Notify};
use crate::notify::shared::Direction;

pub(crate) struct FutexChannel;

pub(crate) struct FutexEnd {
    direction: Direction,
    flags: Flags,
    /// What the word held when it last changed.
    seen: u32,
}

impl FutexEnd {
    fn new(endpoint: Endpoint) -> Self {
        let flags = if endpoint.direction.crosses_processes() { Flags::empty() } else { Flags::PRIVATE };
        Self { direction: endpoint.direction, flags, seen: 0 }
    }
}

impl Channel for FutexChannel {
    type Sender = FutexEnd;
    type Receiver = FutexEnd;

    fn receiver(endpoint: Endpoint) -> io::Result<FutexEnd> {
        Ok(FutexEnd::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<FutexEnd> {
        Ok(FutexEnd::new(endpoint))
    }
}

impl Notify for FutexEnd {
    #[allow(clippy::cast_possible_truncation, reason = "a turn has fewer messages than a word has values")]
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        let word = self.direction.futex();
        word.store(number as u32, Ordering::Release);
        wake(word, self.flags, 1)?;
        Ok(())
    }
}

impl Await for FutexEnd {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let word = self.direction.futex();
        loop {
            let now = word.load(Ordering::Acquire);
            if now != self.seen {
                self.seen = now;
                return Ok(());
            }
            match wait(word, self.flags, now, None) {
                Ok(()) | Err(Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[inline]
    fn number(&self) -> u64 {
        number(self.seen)
    }
}

/// The message that a word of 32 bits stands for.
#[inline]
pub(super) fn number(word: u32) -> u64 {
    if word == u32::MAX { crate::notify::shared::END } else { u64::from(word) }
}
