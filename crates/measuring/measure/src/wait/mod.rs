//! The ways to wait, one small file each.

mod clock_nanosleep;
mod dispatch;
mod epoll;
mod futex;
mod nanosleep;
mod noting;
mod on_clock;
mod poll;
mod posix_timer;
mod spin;
mod timerfd;

pub(crate) use clock_nanosleep::{ClockNanosleep, ClockNanosleepRelative};
pub(crate) use dispatch::{Waiting, WithWaiter};
pub(crate) use epoll::EpollPwait2;
pub(crate) use futex::Futex;
pub(crate) use nanosleep::Nanosleep;
pub(crate) use noting::Noting;
pub(crate) use on_clock::{LengthsOnClock, SleepOnClock, TimerOnClock};
pub(crate) use poll::Ppoll;
pub(crate) use posix_timer::PosixTimer;
pub(crate) use spin::{BusyWait, SleepThenSpin};
pub(crate) use timerfd::{Timerfd, TimerfdOnClock};

use std::io;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span, Wakeup};
use rustix::io::Errno;

/// The world as a measuring loop sees it: a clock, and a way to wait.
///
/// `Interrupted` from a wait means that a signal came; the loop decides whether to wait on.
pub(crate) trait Waiter {
    /// Reads the clock that all times are readings of.
    #[inline]
    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    /// Waits until `time`; returns at once if it has passed.
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()>;

    /// Waits for `span`.
    fn wait_for(&mut self, span: Span) -> io::Result<()>;

    /// Told of each wake-up before the next wait begins.
    #[inline]
    fn woke(&mut self, _: Wakeup) {}
}

/// What is left until `time`, for calls that take a length only; `None` when it has come.
#[inline]
fn left_until(time: MonotonicTime) -> Option<Span> {
    let left = time.since(clock::now());
    (!left.is_zero()).then_some(left)
}

/// For calls whose time-out is reported as an error although it is the purpose.
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
        never_early("posix_timer", PosixTimer::new().unwrap());
        never_early("ppoll", Ppoll);
        never_early("epoll_pwait2", EpollPwait2::new().unwrap());
        never_early("futex", Futex::default());
        never_early("busy_wait", BusyWait::new(stop()));
        never_early("sleep_then_spin", SleepThenSpin::new(stop()));
    }

    #[test]
    fn no_mechanism_returns_before_its_time_on_another_clock() {
        for clock in WaitClock::all().filter(|clock| !clock.is_monotonic() && clock::exists(*clock)) {
            let (reading, name) = (ClockReading::for_clock(clock), clock.constant());
            let has_timers = !matches!(clock, WaitClock::Aux(_));
            if has_timers {
                never_early(&name, SleepOnClock(reading));
                never_early(&name, TimerOnClock::new(reading).unwrap());
            }
            if clock.has(Wait::Timerfd) {
                never_early(&name, TimerfdOnClock::new(reading).unwrap());
            }
            never_early(&name, LengthsOnClock { clock: reading, lengths: Nanosleep });
        }
    }
}
