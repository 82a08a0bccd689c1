//! The clock that measuring threads wait on.

use std::io;

use howlate_linux::clock;
use howlate_model::{Caveat, MonotonicTime, TurnStart, WaitClock};

/// A clock, and where it was when the turn began.
#[derive(Clone, Copy)]
pub(crate) struct ClockReading {
    pub(crate) clock: WaitClock,
    /// Nanoseconds that it was ahead of `CLOCK_MONOTONIC`.
    ahead: i64,
}

const SECOND: i64 = 1_000_000_000;
/// Two readings of how far apart two clocks are may differ by this, where both were interrupted.
const NOT_A_STEP: i64 = 10_000;
/// A full second closer than this is left to pass, so that every thread is there in time.
const TOO_CLOSE: i64 = 100_000_000;

impl ClockReading {
    /// Where `clock` is now.
    pub(crate) fn for_clock(clock: WaitClock) -> Self {
        let ahead = if clock.is_monotonic() { 0 } else { clock::offset_from_monotonic(clock) };
        Self { clock, ahead }
    }

    /// What it shows, on the scale of `CLOCK_MONOTONIC`.
    #[inline]
    pub(crate) fn now(self) -> MonotonicTime {
        MonotonicTime::from_nanos(clock::now_on(self.clock) - self.ahead)
    }

    /// What it is to show at `time`, if nobody sets it; nanoseconds since its own beginning.
    #[inline]
    pub(crate) const fn shows(self, time: MonotonicTime) -> i64 {
        time.as_nanos() + self.ahead
    }

    /// Sleeps until it shows `time`.
    #[inline]
    pub(crate) fn sleep_until(self, time: MonotonicTime) -> io::Result<()> {
        clock::sleep_until_on(self.clock, self.shows(time))
    }

    /// By how much it was set since. The clocks of the kernel's timekeeper run at one speed, so that two of them do not drift apart; an
    /// auxiliary one has a speed of its own, and is not judged.
    pub(crate) fn stepped(self) -> Option<Caveat> {
        let runs_alike = !matches!(self.clock, WaitClock::Monotonic | WaitClock::Aux(_));
        let by_ns = if runs_alike { clock::offset_from_monotonic(self.clock) - self.ahead } else { 0 };
        (by_ns.abs() > NOT_A_STEP).then_some(Caveat::ClockStepped { clock: self.clock, by_ns })
    }

    /// The common start, given the earliest time that is possible.
    pub(crate) fn start(self, start: TurnStart, soon: MonotonicTime) -> MonotonicTime {
        let ahead = self.ahead;
        match start {
            TurnStart::Soon => soon,
            TurnStart::FullSecond => {
                let earliest = soon.as_nanos() + ahead + TOO_CLOSE;
                let full = earliest - earliest.rem_euclid(SECOND) + SECOND;
                MonotonicTime::from_nanos(full - ahead)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(clock: ClockReading, soon: i64, start: i64) {
        let got = clock.start(TurnStart::FullSecond, MonotonicTime::from_nanos(soon));
        assert_eq!(got.as_nanos(), start);
    }

    #[test]
    fn a_full_second_leaves_time_to_get_there() {
        let monotonic = ClockReading::for_clock(WaitClock::Monotonic);
        check(monotonic, 5 * SECOND + 1, 6 * SECOND);
        check(monotonic, 5 * SECOND + 950_000_000, 7 * SECOND);
        // The other clock shows x.3 s when the monotonic one shows x.0 s.
        check(
            ClockReading { clock: WaitClock::Realtime, ahead: 300_000_000 },
            5 * SECOND,
            5 * SECOND + 700_000_000,
        );
    }

    #[test]
    fn a_clock_that_was_set_is_told_by_how_much() {
        let now = ClockReading::for_clock(WaitClock::Realtime);
        assert_eq!(now.stepped(), None);
        let set = ClockReading { ahead: now.ahead + SECOND, ..now };
        let Some(Caveat::ClockStepped { clock: WaitClock::Realtime, by_ns }) = set.stepped() else {
            panic!("it was set back by a second")
        };
        assert!((by_ns + SECOND).abs() < NOT_A_STEP, "{by_ns}");
    }
}
