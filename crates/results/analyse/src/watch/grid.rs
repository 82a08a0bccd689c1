//! Strict rhythms: times at equal distances that a thread asks for one after the other, however late it ran.
//!
//! A loop that sleeps for a length after its work has none: each iteration begins when the previous one has ended, and
//! nothing can be missed.

use std::collections::VecDeque;

use howlate_model::{MonotonicTime, Span};

/// Number of recent steps considered.
const WINDOW: usize = 16;
/// A rhythm is recognised from this many steps on.
const ENOUGH: usize = 8;
/// Steps of a strict rhythm differ by at most one part in this many: more than clock discipline changes.
const STRICT: u64 = 10_000;
/// Tolerated in any case, for rounding in the program's arithmetic.
const ROUNDING: Span = Span::from_nanos(50);

/// The most recent steps of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct RhythmGrid {
    before: Option<MonotonicTime>,
    steps: VecDeque<u64>,
    is_known: bool,
}

impl RhythmGrid {
    /// Takes the next time that the thread asked for. Returns the step to it, and how many times of the rhythm lie in between;
    /// `None` while no strict rhythm is recognised.
    pub(super) fn next(&mut self, expected: MonotonicTime) -> (Option<Span>, Option<u64>) {
        let before = self.before.replace(expected);
        let Some(step) = before.filter(|before| *before < expected).map(|before| expected.since(before))
        else {
            return (None, None);
        };
        if self.steps.len() == WINDOW {
            self.steps.pop_front();
        }
        self.steps.push_back(step.as_nanos());
        let was_known = std::mem::replace(&mut self.is_known, false);
        let Some(period) = self.period() else { return (Some(step), None) };
        self.is_known = true;
        // When the rhythm is first recognised, also what the earlier steps missed.
        let new = if was_known { 1 } else { self.steps.len() };
        let missed = self.steps.iter().rev().take(new).map(|step| between(*step, period)).sum();
        (Some(step), Some(missed))
    }

    /// Period of the recent steps, if at least three quarters of them agree.
    fn period(&self) -> Option<u64> {
        if self.steps.len() < ENOUGH {
            return None;
        }
        let mut ordered: Vec<u64> = self.steps.iter().copied().collect();
        ordered.sort_unstable();
        let median = ordered[ordered.len() / 2];
        let alike = ordered.iter().filter(|step| step.abs_diff(median) <= tolerance(median)).count();
        (alike * 4 >= ordered.len() * 3).then_some(median)
    }
}

fn tolerance(period: u64) -> u64 {
    (period / STRICT).max(ROUNDING.as_nanos())
}

/// How many times of the rhythm lie within a step; 0 if the step is no multiple of the period.
const fn between(step: u64, period: u64) -> u64 {
    if period == 0 {
        return 0;
    }
    let times = (step + period / 2) / period;
    let off = step.abs_diff(times.saturating_mul(period));
    let most = (period / STRICT + ROUNDING.as_nanos()).saturating_mul(times);
    if times >= 2 && off <= most { times - 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn missed(times: impl IntoIterator<Item = i64>) -> Option<u64> {
        let mut grid = RhythmGrid::default();
        let found = times.into_iter().filter_map(|time| grid.next(MonotonicTime::from_nanos(time)).1);
        found.fold(None, |all, more| Some(all.unwrap_or(0) + more))
    }

    // 0  1  2  3  4  5  6  7  8  9  10    12 13       16
    // |--|--|--|--|--|--|--|--|--|--|--.--|--|--.--.--|    period 1 ms: three are missing
    #[test]
    fn what_a_strict_rhythm_lacks_was_missed() {
        let times = (0..=10).chain([12, 13, 16]);
        assert_eq!(missed(times.map(|time| time * 1_000_000)), Some(3));
    }

    #[test]
    fn what_was_missed_before_it_was_known_counts() {
        assert_eq!(missed([0, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|time| time * 1_000_000)), Some(1));
    }

    #[test]
    fn a_loop_that_sleeps_for_a_length_misses_nothing() {
        let steps = (0..100_i64).map(|iteration| 5_060_000 + (iteration * 7_919) % 40_000);
        let times = steps.scan(0, |time, step| {
            *time += step;
            Some(*time)
        });
        assert_eq!(missed(times), None);
    }

    #[test]
    fn a_break_is_not_many_missed_periods() {
        let times = (0..20)
            .map(|iteration| iteration * 1_000_000)
            .chain((0..20).map(|iteration| 60_300_000 + iteration * 1_000_000));
        assert_eq!(missed(times), Some(0));
    }

    proptest! {
        #[test]
        fn every_gap_in_any_rhythm_is_counted(
            period in 10_000_i64..1_000_000_000,
            gaps in prop::collection::vec(0_u8..4, 1..40),
        ) {
            // Each gap is between four regular steps, so that the rhythm stays known.
            let mut times = vec![0];
            let mut now = 0;
            let mut lacking = 0;
            for gap in (0..8).map(|_| 0).chain(gaps) {
                for step in [1 + i64::from(gap), 1, 1, 1] {
                    now += step * period;
                    times.push(now);
                }
                lacking += u64::from(gap);
            }
            prop_assert_eq!(missed(times), Some(lacking));
        }

        #[test]
        fn times_in_any_order_are_taken(times in prop::collection::vec(any::<i64>(), 0..50)) {
            missed(times);
        }
    }
}
