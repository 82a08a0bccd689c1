//! From the name of a way to wait to its own compiled loops.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_model::Wait;

use super::{
    BusyWait, ClockNanosleep, ClockNanosleepRelative, EpollPwait2, Futex, Nanosleep, PosixTimer, Ppoll,
    Realtime, RealtimeTimer, SleepThenSpin, Timerfd, Waiter,
};
use crate::wait_clock::ClockReading;

/// Something to do with a way to wait that is known by name only.
pub(crate) trait WithWaiter {
    fn with(self, waiter: &mut impl Waiter) -> io::Result<u64>;
}

/// What ways to wait are made from.
pub(crate) struct Waiting {
    pub(crate) clock: ClockReading,
    /// Ends waits that no signal ends.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Waiting {
    /// Does `work` with the mechanism's own waiter: compiled once for each.
    pub(crate) fn with(self, mechanism: Wait, work: impl WithWaiter) -> io::Result<u64> {
        match self.clock {
            ClockReading::Monotonic => self.with_monotonic(mechanism, work),
            ClockReading::Realtime { ahead } => with_realtime(ahead, mechanism, work),
        }
    }

    fn with_monotonic(self, mechanism: Wait, work: impl WithWaiter) -> io::Result<u64> {
        match mechanism {
            Wait::ClockNanosleep => work.with(&mut ClockNanosleep),
            Wait::ClockNanosleepRelative => work.with(&mut ClockNanosleepRelative),
            Wait::Nanosleep => work.with(&mut Nanosleep),
            Wait::Timerfd => work.with(&mut Timerfd::new()?),
            Wait::PosixTimer => work.with(&mut PosixTimer::new()?),
            Wait::Ppoll => work.with(&mut Ppoll),
            Wait::EpollPwait2 => work.with(&mut EpollPwait2::new()?),
            Wait::Futex => work.with(&mut Futex::default()),
            Wait::BusyWait => work.with(&mut BusyWait::new(self.stop)),
            Wait::SleepThenSpin => work.with(&mut SleepThenSpin::new(self.stop)),
        }
    }
}

/// The same on `CLOCK_REALTIME`, for those that know it.
fn with_realtime(ahead: i64, mechanism: Wait, work: impl WithWaiter) -> io::Result<u64> {
    match mechanism {
        Wait::ClockNanosleep => work.with(&mut Realtime::new(ClockNanosleep, ahead)),
        Wait::Nanosleep => work.with(&mut Realtime::new(Nanosleep, ahead)),
        Wait::PosixTimer => work.with(&mut RealtimeTimer::new(ahead)?),
        other => {
            let text = format!("{other} is not measured on CLOCK_REALTIME");
            Err(io::Error::new(io::ErrorKind::Unsupported, text))
        }
    }
}
