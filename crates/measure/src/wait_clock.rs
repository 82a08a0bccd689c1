//! The clock that measuring threads wait on.

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Start, WaitClock};

/// A clock, and where it was when the run began.
#[derive(Clone, Copy)]
pub(crate) enum ClockReading {
    Monotonic,
    /// Nanoseconds that it was ahead of `CLOCK_MONOTONIC`.
    Realtime {
        ahead: i64,
    },
}

const SECOND: i64 = 1_000_000_000;
/// A full second closer than this is left to pass, so that every thread is there in time.
const TOO_CLOSE: i64 = 100_000_000;

impl ClockReading {
    /// Where `clock` is now.
    pub(crate) fn for_clock(clock: WaitClock) -> Self {
        match clock {
            WaitClock::Monotonic => Self::Monotonic,
            WaitClock::Realtime => Self::Realtime { ahead: clock::realtime_ahead() },
        }
    }

    /// The common start, given the earliest time that is possible.
    pub(crate) fn start(self, start: Start, soon: MonotonicTime) -> MonotonicTime {
        let ahead = match self {
            Self::Monotonic => 0,
            Self::Realtime { ahead } => ahead,
        };
        match start {
            Start::Soon => soon,
            Start::FullSecond => {
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
        let got = clock.start(Start::FullSecond, MonotonicTime::from_nanos(soon));
        assert_eq!(got.as_nanos(), start);
    }

    #[test]
    fn a_full_second_leaves_time_to_get_there() {
        check(ClockReading::Monotonic, 5 * SECOND + 1, 6 * SECOND);
        check(ClockReading::Monotonic, 5 * SECOND + 950_000_000, 7 * SECOND);
        // The other clock shows x.3 s when the monotonic one shows x.0 s.
        check(ClockReading::Realtime { ahead: 300_000_000 }, 5 * SECOND, 5 * SECOND + 700_000_000);
    }
}
