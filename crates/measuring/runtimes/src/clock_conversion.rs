//! From the clock that a program reads to `CLOCK_MONOTONIC`.

use howlate_linux::clock;
use howlate_model::{MonotonicTime, WaitClock};

use crate::protocol::Clock;

/// How readings are converted.
#[derive(Clone, Copy)]
pub(crate) struct Conversion {
    /// How far it is ahead.
    ahead: i64,
}

impl Conversion {
    /// For readings of `clock` from now on.
    pub(crate) fn for_clock(clock: Clock) -> Self {
        let ahead = match clock {
            Clock::Monotonic => 0,
            Clock::Realtime => clock::offset_from_monotonic(WaitClock::Realtime),
        };
        Self { ahead }
    }

    pub(crate) const fn to_monotonic(self, reading: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(reading.saturating_sub(self.ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_lead_to_the_same_time() {
        let (monotonic, realtime) =
            (Conversion::for_clock(Clock::Monotonic), Conversion::for_clock(Clock::Realtime));
        let before = clock::now();
        let same = realtime.to_monotonic(clock::now_on(WaitClock::Realtime));
        assert_eq!(monotonic.to_monotonic(5), MonotonicTime::from_nanos(5));
        // The clock may be slewed or the thread interrupted, but not by 1970.
        assert!((same.as_nanos() - before.as_nanos()).abs() < 60_000_000_000);
    }
}
