//! One return from sleep.

use crate::{Latency, MonotonicTime, Span};

/// One wake-up: two clock readings, from which everything else follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// When the thread asked to run.
    pub expected: MonotonicTime,
    /// What the clock read when it ran.
    pub ran: MonotonicTime,
}

impl Wakeup {
    /// How late the thread ran.
    pub const fn latency(self) -> Latency {
        Latency::from_nanos(self.ran.as_nanos().saturating_sub(self.expected.as_nanos()))
    }

    /// Whole periods that passed inside the latency: the wake-ups that did not happen.
    pub fn missed_periods(self, period: Span) -> u64 {
        match self.latency().as_nanos() {
            late if late <= 0 || period.is_zero() => 0,
            late => late.unsigned_abs() / period.as_nanos(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: i64, late: i64, missed: u64) {
        let expected = MonotonicTime::from_nanos(expected);
        let ran = MonotonicTime::from_nanos(expected.as_nanos() + late);
        let wakeup = Wakeup { expected, ran };
        assert_eq!(wakeup.latency(), Latency::from_nanos(late));
        assert_eq!(wakeup.missed_periods(Span::from_nanos(100)), missed);
    }

    #[test]
    fn a_latency_swallows_whole_periods() {
        // 0    100  200  300  400   period 100
        // |----|----|----|----|
        //      ^ +7      ^ +100     a full period late: the next one is gone
        check(100, 7, 0);
        check(100, 99, 0);
        check(200, 100, 1);
        check(200, 340, 3);
        check(200, -5, 0);
    }
}
