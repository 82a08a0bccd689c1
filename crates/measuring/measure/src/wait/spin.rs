//! Busy waits: reading the clock until the time has passed, for all or the last part of the wait.

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{MonotonicTime, Span, Wait};

use super::{ClockNanosleep, Waiter};

/// Never gives up the CPU.
pub(crate) struct SpinWait {
    stop: Arc<AtomicBool>,
}

impl SpinWait {
    /// The wait ends early, as if interrupted, once `stop` is set.
    pub(crate) const fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop }
    }
}

impl Waiter for SpinWait {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        while self.now() < time {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            spin_loop();
        }
        Ok(())
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.wait_until(self.now().plus(span))
    }
}

/// Sleeps until [`Wait::SPIN`] before its time, then reads the clock.
pub(crate) struct SleepThenSpin {
    spin: SpinWait,
}

impl SleepThenSpin {
    pub(crate) const fn new(stop: Arc<AtomicBool>) -> Self {
        Self { spin: SpinWait::new(stop) }
    }
}

impl Waiter for SleepThenSpin {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        ClockNanosleep.wait_until(time.minus(Wait::SPIN))?;
        self.spin.wait_until(time)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.wait_until(self.now().plus(span))
    }
}
