//! Waiting on `CLOCK_REALTIME`, which can be set and therefore can jump.
//!
//! Times go in and out as if the clock had shown what `CLOCK_MONOTONIC` shows when the run
//! began: readings less the distance between both at that moment. A clock that is set
//! meanwhile shows in the latencies, as it does in any program that waits on it.

use std::io;

use howlate_linux::clock::{realtime, timespec_at};
use howlate_linux::posix_timer::PosixTimer;
use howlate_model::{MonotonicTime, Span};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use super::Waiter;

/// `clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME)` until a time; `W` for a length.
pub(crate) struct Realtime<W> {
    lengths: W,
    ahead: i64,
}

impl<W: Waiter> Realtime<W> {
    /// `ahead`: how far `CLOCK_REALTIME` was ahead of `CLOCK_MONOTONIC`, in nanoseconds.
    pub(crate) const fn new(lengths: W, ahead: i64) -> Self {
        Self { lengths, ahead }
    }
}

impl<W: Waiter> Waiter for Realtime<W> {
    #[inline]
    fn now(&self) -> MonotonicTime {
        now(self.ahead)
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        Ok(clock_nanosleep_absolute(ClockId::Realtime, &timespec_at(shifted(time, self.ahead)))?)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.lengths.wait_for(span)
    }
}

/// A POSIX timer on `CLOCK_REALTIME`.
pub(crate) struct RealtimeTimer {
    timer: PosixTimer,
    ahead: i64,
}

impl RealtimeTimer {
    pub(crate) fn new(ahead: i64) -> io::Result<Self> {
        Ok(Self { timer: PosixTimer::on_realtime()?, ahead })
    }
}

impl Waiter for RealtimeTimer {
    #[inline]
    fn now(&self) -> MonotonicTime {
        now(self.ahead)
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.timer.arm_at(shifted(time, self.ahead))?;
        self.timer.wait()
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.timer.arm_after(span)?;
        self.timer.wait()
    }
}

#[inline]
fn now(ahead: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(realtime() - ahead)
}

#[inline]
fn shifted(time: MonotonicTime, ahead: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(time.as_nanos() + ahead)
}
