//! The wait mechanisms.

mod dispatch;
mod hook;
mod on_clock;
mod sleep;
mod spin;
mod timeouts;
mod timers;

pub(crate) use dispatch::{WaiterSetup, WithWaiter};
pub(crate) use hook::HookedWaiter;
pub(crate) use on_clock::{PosixTimerOnClock, RelativeOnClock, SleepOnClock};
pub(crate) use sleep::{ClockNanosleep, ClockNanosleepRelative, Nanosleep};
pub(crate) use spin::{SleepThenSpin, SpinWait};
pub(crate) use timeouts::{EpollPwait2, FutexWait, Ppoll};
pub(crate) use timers::{PosixTimerWait, Timerfd, TimerfdOnClock};

use std::io;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span, Wakeup};
use rustix::io::Errno;

/// A clock and a wait mechanism of a measuring loop.
///
/// A wait returns `Interrupted` after a signal; the loop decides whether to wait again.
pub(crate) trait Waiter {
    /// Reads the clock to which all times refer.
    #[inline]
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    /// Waits until `time`; returns at once if it has passed.
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()>;

    /// Waits for `span`.
    fn wait_for(&mut self, span: Span) -> io::Result<()>;

    /// Called after each wake-up, before the next wait.
    #[inline]
    fn after_wakeup(&mut self, _: Wakeup) {}
}

/// Time remaining until `time`, for calls with a relative timeout; `None` when it has passed.
#[inline]
fn remaining_until(time: MonotonicTime) -> Option<Span> {
    let remaining = time.since(clock::now());
    (!remaining.is_zero()).then_some(remaining)
}

/// Turns `ETIMEDOUT`, the purpose of the call here, into success.
#[inline]
fn timed_out<T>(result: Result<T, Errno>) -> io::Result<()> {
    match result {
        Ok(_) | Err(Errno::TIMEDOUT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_clock::ClockReading;
    use howlate_model::{Wait, WaitClock};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn never_early(name: &str, mut waiter: impl Waiter) {
        for span in [Span::ZERO, Span::from_nanos(10), Span::from_micros(50), Span::from_millis(2)] {
            let began = waiter.now();
            waiter.wait_for(span).unwrap();
            assert!(waiter.now() >= began.plus(span), "{name} for {span}");
            let until = waiter.now().plus(span);
            waiter.wait_until(until).unwrap();
            assert!(waiter.now() >= until, "{name} until {span}");
        }
        let past = waiter.now().minus(Span::from_secs(1));
        waiter.wait_until(past).unwrap();
    }

    #[test]
    fn no_mechanism_returns_before_its_time() {
        let stop = || Arc::new(AtomicBool::new(false));
        never_early("clock_nanosleep", ClockNanosleep);
        never_early("clock_nanosleep_relative", ClockNanosleepRelative);
        never_early("nanosleep", Nanosleep);
        never_early("timerfd", Timerfd::new().unwrap());
        never_early("posix_timer", PosixTimerWait::new().unwrap());
        never_early("ppoll", Ppoll);
        never_early("epoll_pwait2", EpollPwait2::new().unwrap());
        never_early("futex", FutexWait::default());
        never_early("busy_wait", SpinWait::new(stop()));
        never_early("sleep_then_spin", SleepThenSpin::new(stop()));
    }

    #[test]
    fn no_mechanism_returns_before_its_time_on_another_clock() {
        for clock in WaitClock::all().filter(|clock| !clock.is_monotonic() && clock::exists(*clock)) {
            let (reading, name) = (ClockReading::for_clock(clock), clock.constant());
            let has_timers = !matches!(clock, WaitClock::Aux(_));
            if has_timers {
                never_early(&name, SleepOnClock(reading));
                never_early(&name, PosixTimerOnClock::new(reading).unwrap());
            }
            if clock.has(Wait::Timerfd) {
                never_early(&name, TimerfdOnClock::new(reading).unwrap());
            }
            never_early(&name, RelativeOnClock { clock: reading, relative: Nanosleep });
        }
    }
}
