//! From the name of a way to wait to its own compiled loops.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_model::{Wait, WaitClock};

use super::{
    BusyWait, ClockNanosleep, ClockNanosleepRelative, EpollPwait2, Futex, LengthsOnClock, Nanosleep,
    PosixTimer, Ppoll, SleepOnClock, SleepThenSpin, TimerOnClock, Timerfd, TimerfdOnClock, Waiter,
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
        if self.clock.clock.is_monotonic() {
            self.with_monotonic(mechanism, work)
        } else {
            with_clock(self.clock, mechanism, work)
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

/// The same on another clock, for those that know it.
fn with_clock(clock: ClockReading, mechanism: Wait, work: impl WithWaiter) -> io::Result<u64> {
    let has_timers = !matches!(clock.clock, WaitClock::Aux(_));
    match mechanism {
        Wait::ClockNanosleep if has_timers => work.with(&mut SleepOnClock(clock)),
        Wait::ClockNanosleep | Wait::ClockNanosleepRelative => {
            work.with(&mut LengthsOnClock { clock, lengths: ClockNanosleep })
        }
        Wait::Nanosleep => work.with(&mut LengthsOnClock { clock, lengths: Nanosleep }),
        Wait::PosixTimer => work.with(&mut TimerOnClock::new(clock)?),
        Wait::Timerfd => work.with(&mut TimerfdOnClock::new(clock)?),
        other => {
            let text = format!("{other} is not measured on {}", clock.clock.constant());
            Err(io::Error::new(io::ErrorKind::Unsupported, text))
        }
    }
}
