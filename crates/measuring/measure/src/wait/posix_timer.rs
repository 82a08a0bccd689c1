//! `timer_settime(2)` and `sigwaitinfo(2)`.

use std::io;

use howlate_linux::posix_timer;
use howlate_model::{MonotonicTime, Span, WaitClock};

use super::Waiter;

/// A POSIX timer that signals the measuring thread, armed anew for every wait.
pub(crate) struct PosixTimer(posix_timer::PosixTimer);

impl PosixTimer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(posix_timer::PosixTimer::new(WaitClock::Monotonic)?))
    }
}

impl Waiter for PosixTimer {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.0.arm_at(time)?;
        self.0.wait()
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.0.arm_after(span)?;
        self.0.wait()
    }
}
