//! The program's end of a ring.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::joining::Taken;
use crate::layout::{CAPACITY, LETTERS, LOST, NAME, PERIOD, READ, THREAD, TURNS, WRITTEN};
use crate::name::{self, Names};
use crate::page::{Words, now, thread};

/// A ring that turns are written to, and the turn that has begun.
#[derive(Debug)]
pub(crate) struct Ring {
    words: Words,
    /// Its only word is 0 in a process that was forked from the one that took the ring.
    mine: Words,
    ticks: bool,
    /// `None` where howlate does not read spans.
    names: Option<Names>,
    written: u64,
    /// Where the reader was when last looked at; looked at again only when the ring seems full.
    read: u64,
    expected: u64,
    woke: u64,
}

impl Ring {
    /// Takes one, if there is a howlate; its loop has this name and period.
    pub(crate) fn join(name: &[u8; LETTERS], period: u64) -> Option<Self> {
        let Taken { words, ticks, spans } = crate::joining::join()?;
        let mine = Words::of_this_process()?;
        mine.get()[0].store(1, Relaxed);
        name::write(&words.get()[NAME..], name);
        words.get()[PERIOD].store(period, Relaxed);
        let names = spans.then(Names::default);
        Some(Self { words, mine, ticks, names, written: 0, read: 0, expected: 0, woke: 0 })
    }

    /// Whether its times are ticks.
    #[inline]
    pub(crate) const fn has_ticks(&self) -> bool {
        self.ticks
    }

    /// The names of spans; `None` where howlate does not read them.
    #[inline]
    pub(crate) const fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    /// Its memory; `None` where that is another process's.
    #[inline]
    pub(crate) fn own_words(&self) -> Option<&[AtomicU64]> {
        (self.mine.get()[0].load(Relaxed) != 0).then(|| self.words.get())
    }

    /// A turn begins; false where the ring is another process's.
    #[inline]
    pub(crate) fn wake(&mut self, expected: u64) -> bool {
        let now = now(self.ticks);
        if self.woke != 0 && !self.put(0) {
            return false;
        }
        (self.expected, self.woke) = (expected, now);
        true
    }

    /// The turn's work is done; false where the ring is another process's.
    #[inline]
    pub(crate) fn done(&mut self) -> bool {
        self.woke == 0 || self.put(now(self.ticks))
    }

    /// Hands on the turn that began last, or counts it as lost where the ring is full.
    #[inline]
    fn put(&mut self, done: u64) -> bool {
        if self.mine.get()[0].load(Relaxed) == 0 {
            return false;
        }
        let words = self.words.get();
        if self.written == 0 {
            // howlate looks at the ring from now on.
            words[THREAD].store(u64::from(std::process::id()) << 32 | u64::from(thread()), Release);
        }
        if self.written.wrapping_sub(self.read) >= CAPACITY {
            self.read = words[READ].load(Acquire);
        }
        if self.written.wrapping_sub(self.read) >= CAPACITY {
            words[LOST].store(words[LOST].load(Relaxed).wrapping_add(1), Relaxed);
        } else {
            let place = TURNS + usize::try_from(self.written % CAPACITY).unwrap_or(0) * 3;
            words[place].store(self.expected, Relaxed);
            words[place + 1].store(self.woke, Relaxed);
            words[place + 2].store(done, Relaxed);
            self.written += 1;
            words[WRITTEN].store(self.written, Release);
        }
        self.woke = 0;
        true
    }
}
