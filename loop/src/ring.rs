//! The writer's side of a ring: reserving one in the shared memory, and writing turns.

use std::os::fd::RawFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{
    CAPACITY, FIRST, LENGTH, LETTERS, LOST, MAGIC, NAME, PERIOD, READ, RING, RINGS, SPANS, TAKEN, THREAD,
    TICKS, TURNS, WRITTEN,
};
use crate::name::{self, SpanNames};
use crate::page::{self, HEAD, Words, file_length, now, thread_id};
use crate::recorder;

/// Environment variable: the file descriptor of the memory that `howlate watch` shares with the program that it starts.
const VARIABLE: &str = "HOWLATE_LOOPS";

/// A ring in the shared memory, and the current turn.
#[derive(Debug)]
pub(crate) struct Ring {
    words: Words,
    /// Its first word is 0 in a process forked from the one that reserved the ring.
    fork_marker: Words,
    /// Whether times are ticks of the processor rather than nanoseconds of `CLOCK_MONOTONIC`.
    uses_ticks: bool,
    /// `None` if howlate does not read spans.
    span_names: Option<SpanNames>,
    written: u64,
    /// Last known position of the reader; read again only when the ring seems full.
    read: u64,
    expected: u64,
    /// Wake-up time of the current turn; 0 between turns.
    woke: u64,
}

impl Ring {
    /// Reserves a ring for a loop with this name and period in nanoseconds. `None` without howlate, or if all rings are
    /// in use.
    pub(crate) fn join(name: &[u8; LETTERS], period: u64) -> Option<Self> {
        let Reserved { words, uses_ticks, reads_spans } = match page::variable(VARIABLE) {
            Some(file) => reserve(file.to_str()?.parse().ok()?),
            None => reserve(recorder::memory()?),
        }?;
        let fork_marker = Words::wiped_on_fork()?;
        fork_marker.get()[0].store(1, Relaxed);
        name::write(&words.get()[NAME..], name);
        words.get()[PERIOD].store(period, Relaxed);
        let span_names = reads_spans.then(SpanNames::default);
        Some(Self { words, fork_marker, uses_ticks, span_names, written: 0, read: 0, expected: 0, woke: 0 })
    }

    #[inline]
    pub(crate) const fn uses_ticks(&self) -> bool {
        self.uses_ticks
    }

    /// `None` if howlate does not read spans.
    #[inline]
    pub(crate) const fn span_names(&self) -> Option<&SpanNames> {
        self.span_names.as_ref()
    }

    /// `None` after a fork: the ring belongs to the parent.
    #[inline]
    pub(crate) fn own_words(&self) -> Option<&[AtomicU64]> {
        (self.fork_marker.get()[0].load(Relaxed) != 0).then(|| self.words.get())
    }

    /// Begins a turn; false after a fork, when the ring belongs to the parent.
    #[inline]
    pub(crate) fn wake(&mut self, expected: u64) -> bool {
        let now = now(self.uses_ticks);
        if self.woke != 0 && !self.put(0) {
            return false;
        }
        (self.expected, self.woke) = (expected, now);
        true
    }

    /// Ends the turn; false after a fork, when the ring belongs to the parent.
    #[inline]
    pub(crate) fn done(&mut self) -> bool {
        self.woke == 0 || self.put(now(self.uses_ticks))
    }

    /// Writes the current turn, or counts it as lost if the ring is full.
    #[inline]
    fn put(&mut self, done: u64) -> bool {
        if self.fork_marker.get()[0].load(Relaxed) == 0 {
            return false;
        }
        let words = self.words.get();
        if self.written == 0 {
            // howlate reads a ring only once it has a thread.
            words[THREAD].store(u64::from(std::process::id()) << 32 | u64::from(thread_id()), Release);
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

/// A ring that is now this loop's.
struct Reserved {
    words: Words,
    uses_ticks: bool,
    reads_spans: bool,
}

/// The next free ring of the memory behind a file descriptor.
fn reserve(file: RawFd) -> Option<Reserved> {
    let head = Words::shared(file, 0, HEAD).filter(|_| file_length(file) == Some(LENGTH))?;
    let head = head.get();
    if head[MAGIC.0].load(Relaxed) != MAGIC.1 {
        return None;
    }
    let number = usize::try_from(head[TAKEN].fetch_add(1, Relaxed)).ok().filter(|number| *number < RINGS)?;
    let words = Words::shared(file, FIRST + number * RING, RING)?;
    // Touches every page now, so that no turn has a page fault.
    words.get().iter().step_by(HEAD / size_of::<u64>()).for_each(|word| word.store(0, Relaxed));
    let [uses_ticks, reads_spans] = [TICKS, SPANS].map(|place| head[place].load(Relaxed) != 0);
    Some(Reserved { words, uses_ticks, reads_spans })
}
