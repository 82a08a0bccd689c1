//! The timeout of `futex(2)`.

use std::io;
use std::sync::atomic::AtomicU32;

use howlate_linux::clock::{timespec_at, timespec_for};
use howlate_model::{MonotonicTime, Span};
use rustix::thread::futex::{self, Flags};

use super::{Waiter, timed_out};

/// Waits on a word that nobody changes: `FUTEX_WAIT_BITSET` until a time, `FUTEX_WAIT` for a length.
#[derive(Default)]
pub(crate) struct Futex {
    word: AtomicU32,
}

impl Waiter for Futex {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        let any = std::num::NonZeroU32::MAX;
        timed_out(futex::wait_bitset(&self.word, Flags::PRIVATE, 0, Some(&timespec_at(time)), any))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        timed_out(futex::wait(&self.word, Flags::PRIVATE, 0, Some(&timespec_for(span))))
    }
}
