//! `clock_nanosleep(2)` on `CLOCK_MONOTONIC`.

use std::io;

use howlate_linux::clock::{sleep_for, timespec_at};
use howlate_model::{MonotonicTime, Span};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use super::{Waiter, left_until};

/// `clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)` until a time, flags 0 for a length.
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

/// `clock_nanosleep(CLOCK_MONOTONIC, 0)`, also until a time: for what is left.
pub(crate) struct ClockNanosleepRelative;

impl Waiter for ClockNanosleepRelative {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        left_until(time).map_or(Ok(()), sleep_for)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        sleep_for(span)
    }
}
