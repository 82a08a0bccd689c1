//! Conversion from the clock of a probe to `CLOCK_MONOTONIC`.

use howlate_linux::clock;
use howlate_model::{MonotonicTime, WaitClock};

use crate::protocol::Clock;

/// Converts readings.
#[derive(Clone, Copy)]
pub(crate) struct ClockConversion {
    /// Offset from `CLOCK_MONOTONIC`.
    offset_ns: i64,
}

impl ClockConversion {
    /// Converts readings of `clock` from now on.
    pub(crate) fn for_clock(clock: Clock) -> Self {
        let offset_ns = match clock {
            Clock::Monotonic => 0,
            Clock::Realtime => clock::offset_from_monotonic(WaitClock::Realtime),
        };
        Self { offset_ns }
    }

    pub(crate) const fn to_monotonic(self, reading: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(reading.saturating_sub(self.offset_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_lead_to_the_same_time() {
        let (monotonic, realtime) =
            (ClockConversion::for_clock(Clock::Monotonic), ClockConversion::for_clock(Clock::Realtime));
        let before = clock::now();
        let same = realtime.to_monotonic(clock::now_on(WaitClock::Realtime));
        assert_eq!(monotonic.to_monotonic(5), MonotonicTime::from_nanos(5));
        // The clock may be slewed or the thread interrupted, but not by 1970.
        assert!((same.as_nanos() - before.as_nanos()).abs() < 60_000_000_000);
    }
}
