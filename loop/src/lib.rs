//! Marks a periodic loop, so that `howlate watch -- ./program` measures each of its turns (iterations), and a running
//! `howlate record` keeps those that miss their deadline: that were not done a period after they were due.
//!
//! ```
//! use howlate_loop::Loop;
//! use std::time::Duration;
//!
//! let mut control = Loop::new("control", Duration::from_millis(1));
//! for _ in 0..3 {
//!     // Wait here, by `std::thread::sleep`, clock_nanosleep(2) or a timerfd.
//!     let turn = control.turn();
//!     // The work of the turn, which ends when the guard is dropped, also by `?` or a panic.
//!     let plan = turn.span("plan"); // optional: a named part, so that a long turn shows where it was long
//!     drop(plan);
//!     drop(turn);
//! }
//! ```
//!
//! Under howlate, a turn costs two readings of a clock and an entry in a ring of shared memory: no system call, no lock.
//! Without howlate, each call is one branch, and [`Loop::new`] three system calls. [`snap`] asks a recorder to keep what all CPUs
//! have just done. `howlate.h` beside this crate does this for C and C++, with the same memory layout.
//!
//! For Linux. The crate neither waits nor keeps a period.

#![warn(missing_docs)]

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

/// Guard of the current turn, which ends when it is dropped.
#[derive(Debug)]
#[must_use = "the turn is done when this is dropped"]
pub struct Turn<'a> {
    parent: &'a mut Loop,
}

impl Turn<'_> {
    /// Begins a named part of the turn, which ends when the guard is dropped: see [`Loop::span`].
    #[inline]
    pub fn span(&self, name: &'static str) -> Span<'_> {
        self.parent.span(name)
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        self.parent.done();
    }
}

/// A loop that howlate measures if it started the program, or if a recorder runs. Used by one thread at a time.
#[derive(Debug)]
pub struct Loop {
    name: [u8; layout::LETTERS],
    period: u64,
    ring: Option<Ring>,
}

impl Loop {
    /// A loop with this name, truncated to 31 bytes, and this period; zero: without a fixed period.
    pub fn new(name: &str, period: Duration) -> Self {
        let encoded = name::encode(name);
        let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let ring = Ring::join(&encoded, period);
        Self { name: encoded, period, ring }
    }

    /// Begins a turn.
    #[inline]
    pub fn wake(&mut self) {
        self.begin(0);
    }

    /// Begins a turn that was due at `expected`, in nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn wake_at(&mut self, expected: u64) {
        self.begin(expected);
    }

    /// Ends the work of the turn.
    #[inline]
    pub fn done(&mut self) {
        if let Some(ring) = &mut self.ring
            && !ring.done()
        {
            self.rejoin();
        }
    }

    /// Begins a turn, which ends when the guard is dropped.
    #[inline]
    pub fn turn(&mut self) -> Turn<'_> {
        self.turn_at(0)
    }

    /// Like [`Loop::turn`], for a turn that was due at `expected`, in nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn turn_at(&mut self, expected: u64) -> Turn<'_> {
        self.begin(expected);
        Turn { parent: self }
    }

    /// Begins a named part of the current turn, which ends when the guard is dropped. Parts with the same name are added
    /// up within a turn. At most 16 names per loop are measured; howlate names the first one beyond them.
    #[inline]
    pub fn span(&self, name: &'static str) -> Span<'_> {
        Span::begin(self.ring.as_ref(), name)
    }

    /// Whether howlate measures this loop.
    pub const fn is_measured(&self) -> bool {
        self.ring.is_some()
    }

    #[inline]
    fn begin(&mut self, expected: u64) {
        if let Some(ring) = &mut self.ring
            && !ring.wake(expected)
        {
            self.rejoin();
        }
    }

    /// After a fork, when the ring belongs to the parent: reserves another one.
    #[cold]
    fn rejoin(&mut self) {
        self.ring = Ring::join(&self.name, self.period);
    }
}
