//! `nanosleep(2)`: what `usleep`, `sleep_for` and most languages' sleeps used to end in.

use std::io;

use howlate_linux::clock::timespec_for;
use howlate_model::{MonotonicTime, Span};
use rustix::thread::{NanosleepRelativeResult, nanosleep};

use super::{Waiter, left_until};

/// Sleeps by `nanosleep(2)`, relative.
pub(crate) struct Nanosleep;

impl Waiter for Nanosleep {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        left_until(time).map_or(Ok(()), |left| self.wait_for(left))
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
