//! The clock that measuring threads wait on.

use std::io;

use howlate_linux::clock;
use howlate_model::{Caveat, MonotonicTime, TurnStart, WaitClock};

/// A clock, and its offset from `CLOCK_MONOTONIC` at the start of the turn.
#[derive(Clone, Copy)]
pub(crate) struct ClockReading {
    pub(crate) clock: WaitClock,
    /// In nanoseconds.
    offset: i64,
}

const SECOND: i64 = 1_000_000_000;
/// Two measurements of an offset may differ by this without a step, where both were interrupted.
const STEP_TOLERANCE: i64 = 10_000;
/// Minimum time before a start at a full second, so that every thread is ready.
const MIN_START_LEAD: i64 = 100_000_000;

impl ClockReading {
    pub(crate) fn for_clock(clock: WaitClock) -> Self {
        let offset = if clock.is_monotonic() { 0 } else { clock::offset_from_monotonic(clock) };
        Self { clock, offset }
    }

    /// Reads the clock, shifted to the scale of `CLOCK_MONOTONIC`.
    #[inline]
    pub(crate) fn now(self) -> MonotonicTime {
        MonotonicTime::from_nanos(clock::now_on(self.clock) - self.offset)
    }

    /// The clock's reading at `time`, in nanoseconds, unless it is set.
    #[inline]
    pub(crate) const fn reading_at(self, time: MonotonicTime) -> i64 {
        time.as_nanos() + self.offset
    }

    /// Sleeps until `time` on this clock.
    #[inline]
    pub(crate) fn sleep_until(self, time: MonotonicTime) -> io::Result<()> {
        clock::sleep_until_on(self.clock, self.reading_at(time))
    }

    /// A caveat if the clock was set since. Other clocks of the kernel's timekeeper run at the same rate and do not drift apart; an
    /// auxiliary clock has a rate of its own, and is not checked.
    pub(crate) fn stepped(self) -> Option<Caveat> {
        let has_same_rate = !matches!(self.clock, WaitClock::Monotonic | WaitClock::Aux(_));
        let by_ns = if has_same_rate { clock::offset_from_monotonic(self.clock) - self.offset } else { 0 };
        (by_ns.abs() > STEP_TOLERANCE).then_some(Caveat::ClockStepped { clock: self.clock, by_ns })
    }

    /// The common start, given the earliest time that is possible.
    pub(crate) fn start(self, start: TurnStart, earliest: MonotonicTime) -> MonotonicTime {
        let offset = self.offset;
        match start {
            TurnStart::Soon => earliest,
            TurnStart::FullSecond => {
                let reading = earliest.as_nanos() + offset + MIN_START_LEAD;
                let full = reading - reading.rem_euclid(SECOND) + SECOND;
                MonotonicTime::from_nanos(full - offset)
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
            ClockReading { clock: WaitClock::Realtime, offset: 300_000_000 },
            5 * SECOND,
            5 * SECOND + 700_000_000,
        );
    }

    #[test]
    fn a_clock_step_is_reported_with_its_size() {
        let now = ClockReading::for_clock(WaitClock::Realtime);
        assert_eq!(now.stepped(), None);
        let set = ClockReading { offset: now.offset + SECOND, ..now };
        let Some(Caveat::ClockStepped { clock: WaitClock::Realtime, by_ns }) = set.stepped() else {
            panic!("it was set back by a second")
        };
        assert!((by_ns + SECOND).abs() < STEP_TOLERANCE, "{by_ns}");
    }
}
