//! One return from sleep.

use crate::{Latency, MonotonicTime, Span};

/// Planned wake-up times of a periodic thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeupGrid {
    /// Time between wake-ups; not zero.
    pub period: Span,
    /// Last planned time; [`MonotonicTime::MAX`] if the turn ends by its count.
    pub until: MonotonicTime,
}

impl WakeupGrid {
    /// Times with `period` and no end.
    pub const fn endless(period: Span) -> Self {
        Self { period, until: MonotonicTime::MAX }
    }
}

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

    /// The planned times that passed inside the latency. After the last there was nothing to miss.
    pub fn missed(self, grid: WakeupGrid) -> u64 {
        let planned = Self { ran: self.ran.min(grid.until), ..self };
        planned.missed_periods(grid.period)
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
    fn nothing_is_missed_after_the_last_planned_time() {
        // 0    100  200  300  400   period 100, until 350
        // |----|----|----|--|-|
        //      ^ +340: 200 and 300 are gone, 400 was not planned
        let at = MonotonicTime::from_nanos;
        let grid = WakeupGrid { period: Span::from_nanos(100), until: at(350) };
        assert_eq!(Wakeup { expected: at(100), ran: at(440) }.missed(grid), 2);
        assert_eq!(Wakeup { expected: at(300), ran: at(440) }.missed(grid), 0);
        assert_eq!(Wakeup { expected: at(100), ran: at(440) }.missed(WakeupGrid::endless(grid.period)), 3);
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
