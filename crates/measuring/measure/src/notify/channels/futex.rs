//! `futex(2)`: the sender stores the message's number and wakes; the receiver waits for a change.

use std::io;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait, wake};

use crate::notify::channel::{Await, Channel, Endpoint, Notify};
use crate::notify::shared::Direction;

pub(crate) struct Futex;

pub(crate) struct End {
    direction: Direction,
    flags: Flags,
    /// What the word held when it last changed.
    seen: u32,
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        let flags = if endpoint.direction.crosses_processes() { Flags::empty() } else { Flags::PRIVATE };
        Self { direction: endpoint.direction, flags, seen: 0 }
    }
}

impl Channel for Futex {
    type Sender = End;
    type Receiver = End;

    fn receiver(endpoint: Endpoint) -> io::Result<End> {
        Ok(End::new(endpoint))
    }

    fn sender(endpoint: Endpoint) -> io::Result<End> {
        Ok(End::new(endpoint))
    }
}

impl Notify for End {
    #[allow(clippy::cast_possible_truncation, reason = "a turn has fewer messages than a word has values")]
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        let word = self.direction.futex();
        word.store(number as u32, Ordering::Release);
        wake(word, self.flags, 1)?;
        Ok(())
    }
}

impl Await for End {
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
