//! `clock_nanosleep(2)` and `nanosleep(2)`.

use std::io;

use howlate_linux::clock::{sleep_for, timespec_at, timespec_for};
use howlate_model::{MonotonicTime, Span};
use rustix::thread::{ClockId, NanosleepRelativeResult, clock_nanosleep_absolute, nanosleep};

use super::{Waiter, remaining_until};

/// `clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)` until a time, flags 0 for a duration.
pub(crate) struct ClockNanosleep;

impl Waiter for ClockNanosleep {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        Ok(clock_nanosleep_absolute(ClockId::Monotonic, &timespec_at(time))?)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        sleep_for(span)
    }
}

/// `clock_nanosleep(CLOCK_MONOTONIC, 0)`; until a time: for the remaining time.
pub(crate) struct ClockNanosleepRelative;

impl Waiter for ClockNanosleepRelative {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        remaining_until(time).map_or(Ok(()), sleep_for)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        sleep_for(span)
    }
}

/// `nanosleep(2)`, relative: what `usleep`, `sleep_for` and most languages' sleeps used to call.
pub(crate) struct Nanosleep;

impl Waiter for Nanosleep {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        remaining_until(time).map_or(Ok(()), |remaining| self.wait_for(remaining))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        match nanosleep(&timespec_for(span)) {
            NanosleepRelativeResult::Ok => Ok(()),
            NanosleepRelativeResult::Interrupted(_) => Err(io::ErrorKind::Interrupted.into()),
            NanosleepRelativeResult::Err(error) => Err(error.into()),
        }
    }
}
