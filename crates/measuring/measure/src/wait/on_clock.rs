//! Waiting on clocks other than `CLOCK_MONOTONIC`: some can be set and therefore jump, some run at another rate.
//!
//! All times are shifted by the clock's offset from `CLOCK_MONOTONIC` at the start of the turn. If the clock is set meanwhile, the
//! latencies show it, as in any program that waits on that clock.

use std::io;

use howlate_linux::clock::sleep_for;
use howlate_linux::posix_timer::PosixTimer;
use howlate_model::{MonotonicTime, Span};

use super::Waiter;
use crate::wait_clock::ClockReading;

/// `clock_nanosleep(clock, TIMER_ABSTIME)` until a time. For a relative sleep on `CLOCK_REALTIME`, the kernel uses the monotonic clock.
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

/// Reads the clock, and waits with `W` for the remaining time: for calls with a relative timeout, and clocks without timers.
pub(crate) struct RelativeOnClock<W> {
    pub(crate) clock: ClockReading,
    pub(crate) relative: W,
}

impl<W: Waiter> Waiter for RelativeOnClock<W> {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    /// Repeats the wait where the clock is slower than that of the relative wait.
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        loop {
            let remaining = time.since(self.now());
            if remaining.is_zero() {
                return Ok(());
            }
            self.relative.wait_for(remaining)?;
        }
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.relative.wait_for(span)
    }
}

/// A POSIX timer on a clock.
pub(crate) struct PosixTimerOnClock {
    timer: PosixTimer,
    clock: ClockReading,
}

impl PosixTimerOnClock {
    pub(crate) fn new(clock: ClockReading) -> io::Result<Self> {
        Ok(Self { timer: PosixTimer::new(clock.clock)?, clock })
    }
}

impl Waiter for PosixTimerOnClock {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.timer.arm_at(MonotonicTime::from_nanos(self.clock.reading_at(time)))?;
        self.timer.wait()
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.timer.arm_after(span)?;
        self.timer.wait()
    }
}
