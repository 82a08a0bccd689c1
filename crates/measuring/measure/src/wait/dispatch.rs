//! Selects the waiter of a wait mechanism by name.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_model::{Wait, WaitClock};

use super::{
    ClockNanosleep, ClockNanosleepRelative, EpollPwait2, FutexWait, Nanosleep, PosixTimerOnClock,
    PosixTimerWait, Ppoll, RelativeOnClock, SleepOnClock, SleepThenSpin, SpinWait, Timerfd, TimerfdOnClock,
    Waiter,
};
use crate::wait_clock::ClockReading;

/// Work that is compiled once for each waiter.
pub(crate) trait WithWaiter {
    fn with(self, waiter: &mut impl Waiter) -> io::Result<u64>;
}

/// What waiters are created from.
pub(crate) struct WaiterSetup {
    pub(crate) clock: ClockReading,
    /// Ends busy waits, which no signal ends.
    pub(crate) stop: Arc<AtomicBool>,
}

impl WaiterSetup {
    /// Runs `work` with the waiter of `mechanism`.
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
            Wait::PosixTimer => work.with(&mut PosixTimerWait::new()?),
            Wait::Ppoll => work.with(&mut Ppoll),
            Wait::EpollPwait2 => work.with(&mut EpollPwait2::new()?),
            Wait::Futex => work.with(&mut FutexWait::default()),
            Wait::BusyWait => work.with(&mut SpinWait::new(self.stop)),
            Wait::SleepThenSpin => work.with(&mut SleepThenSpin::new(self.stop)),
        }
    }
}

/// Runs `work` with a waiter on another clock, where the mechanism supports it.
fn with_clock(clock: ClockReading, mechanism: Wait, work: impl WithWaiter) -> io::Result<u64> {
    let has_timers = !matches!(clock.clock, WaitClock::Aux(_));
    match mechanism {
        Wait::ClockNanosleep if has_timers => work.with(&mut SleepOnClock(clock)),
        Wait::ClockNanosleep | Wait::ClockNanosleepRelative => {
            work.with(&mut RelativeOnClock { clock, relative: ClockNanosleep })
        }
        Wait::Nanosleep => work.with(&mut RelativeOnClock { clock, relative: Nanosleep }),
        Wait::PosixTimer => work.with(&mut PosixTimerOnClock::new(clock)?),
        Wait::Timerfd => work.with(&mut TimerfdOnClock::new(clock)?),
        unsupported => {
            let text = format!("{unsupported} is not measured on {}", clock.clock.constant());
            Err(io::Error::new(io::ErrorKind::Unsupported, text))
        }
    }
}
