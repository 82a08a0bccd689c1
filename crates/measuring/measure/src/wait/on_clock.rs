//! Waiting on another clock than `CLOCK_MONOTONIC`: some can be set and therefore jump, some run at a speed of their own.
//!
//! Times go in and out as if the clock had shown what `CLOCK_MONOTONIC` shows when the turn began: readings less the distance
//! between both at that moment. A clock that is set meanwhile shows in the latencies, as it does in any program that waits on it.

use std::io;

use howlate_linux::clock::sleep_for;
use howlate_linux::posix_timer::PosixTimer;
use howlate_model::{MonotonicTime, Span};

use super::Waiter;
use crate::wait_clock::ClockReading;

/// `clock_nanosleep(clock, TIMER_ABSTIME)` until a time. For a length the kernel takes no time of day, but the monotonic clock.
pub(crate) struct SleepOnClock(pub(crate) ClockReading);

impl Waiter for SleepOnClock {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.0.now()
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.0.sleep_until(time)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        sleep_for(span)
    }
}

/// Reads the clock, and waits by `W` for what is left: for calls that take a length only, and clocks without timers.
pub(crate) struct LengthsOnClock<W> {
    pub(crate) clock: ClockReading,
    pub(crate) lengths: W,
}

impl<W: Waiter> Waiter for LengthsOnClock<W> {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    /// Again and again where the clock is slower than the one that is waited on.
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        loop {
            let left = time.since(self.now());
            if left.is_zero() {
                return Ok(());
            }
            self.lengths.wait_for(left)?;
        }
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.lengths.wait_for(span)
    }
}

/// A POSIX timer on a clock.
pub(crate) struct TimerOnClock {
    timer: PosixTimer,
    clock: ClockReading,
}

impl TimerOnClock {
    pub(crate) fn new(clock: ClockReading) -> io::Result<Self> {
        Ok(Self { timer: PosixTimer::new(clock.clock)?, clock })
    }
}

impl Waiter for TimerOnClock {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.timer.arm_at(MonotonicTime::from_nanos(self.clock.shows(time)))?;
        self.timer.wait()
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.timer.arm_after(span)?;
        self.timer.wait()
    }
}
