//! Marks a periodic loop, so that `howlate watch -- ./program` measures each of its turns, and a running `howlate record` keeps
//! those that miss their deadline: that were not done a period after they were due.
//!
//! ```
//! use howlate_loop::Loop;
//! use std::time::Duration;
//!
//! let mut control = Loop::new("control", Duration::from_millis(1));
//! for _ in 0..3 {
//!     // Whatever it waits by: `std::thread::sleep`, clock_nanosleep(2), a timerfd.
//!     let turn = control.turn();
//!     // Its work, which is done when the guard is dropped, also by `?` or a panic.
//!     let plan = turn.span("plan"); // a part of it; where a turn was long is told by these
//!     drop(plan);
//!     drop(turn);
//! }
//! ```
//!
//! Under howlate, a turn costs two readings of a clock and an entry in a ring of shared memory: no system call, no lock.
//! Without howlate, each call is one branch, and [`Loop::new`] three system calls. [`snap`] asks a recorder to keep what all CPUs
//! have just done. `howlate.h` beside this crate is the same for C and C++, and has the same memory.
//!
//! For Linux. What it does not do: wait, or keep a rhythm.

#![warn(missing_docs)]

mod joining;
mod layout;
mod name;
mod page;
mod recorder;
mod ring;
mod socket;
mod span;

use std::time::Duration;

pub use recorder::snap;
use ring::Ring;
pub use span::Span;

/// A turn that has begun; it is done when this is dropped.
#[derive(Debug)]
#[must_use = "the turn is done when this is dropped"]
pub struct Turn<'a> {
    of: &'a mut Loop,
}

impl Turn<'_> {
    /// A part of it, from now until the guard is dropped: see [`Loop::span`].
    #[inline]
    pub fn span(&self, name: &'static str) -> Span<'_> {
        self.of.span(name)
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        self.of.done();
    }
}

/// A loop that howlate measures, if the program was started by it or a recorder runs. Used by one thread at a time.
#[derive(Debug)]
pub struct Loop {
    name: [u8; layout::LETTERS],
    period: u64,
    ring: Option<Ring>,
}

impl Loop {
    /// A loop of this name, of which 31 bytes count, that is to turn every `period`; zero: at no fixed distance.
    pub fn new(name: &str, period: Duration) -> Self {
        let letters = name::letters(name);
        let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let ring = Ring::join(&letters, period);
        Self { name: letters, period, ring }
    }

    /// A turn begins.
    #[inline]
    pub fn wake(&mut self) {
        self.begin(0);
    }

    /// A turn begins that was to begin at `expected`, in nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn wake_at(&mut self, expected: u64) {
        self.begin(expected);
    }

    /// Its work is done.
    #[inline]
    pub fn done(&mut self) {
        if let Some(ring) = &mut self.ring
            && !ring.done()
        {
            self.again();
        }
    }

    /// A turn from now until the guard is dropped.
    #[inline]
    pub fn turn(&mut self) -> Turn<'_> {
        self.turn_at(0)
    }

    /// The same of one that was to begin at `expected`, in nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn turn_at(&mut self, expected: u64) -> Turn<'_> {
        self.begin(expected);
        Turn { of: self }
    }

    /// A part of the turn that has begun, from now until the guard is dropped. Parts of one name are added up for each turn.
    /// At most 16 names per loop are measured; howlate says which was the first beyond them.
    #[inline]
    pub fn span(&self, name: &'static str) -> Span<'_> {
        Span::begin(self.ring.as_ref(), name)
    }

    /// Whether a howlate measures it.
    pub const fn is_measured(&self) -> bool {
        self.ring.is_some()
    }

    #[inline]
    fn begin(&mut self, expected: u64) {
        if let Some(ring) = &mut self.ring
            && !ring.wake(expected)
        {
            self.again();
        }
    }

    /// This process was forked: that ring is its parent's.
    #[cold]
    fn again(&mut self) {
        self.ring = Ring::join(&self.name, self.period);
    }
}
