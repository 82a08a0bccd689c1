//! Runs until a percentile is known well enough: looks at lengths that are fixed beforehand and grow by half, so that there are
//! few however long a run.
//!
//! The batch interval of a percentile does not hold at every moment that a user might choose. It does if it is read a few
//! times only, at lengths independent of the data, and believed when two looks in a row agree that it is narrow enough: that
//! is tested by simulation. One look is not enough, because a machine that drifts more slowly than the run so far shows that
//! later; two are not enough if it was seen to drift. Runs with few events seem narrow first and contain too little: so the
//! interval reaches further to the side of what few batches had, as that of Sequest does.
//!
//! Source of the lengths: Alexopoulos et al., Sequest, Operations Research 67 (2019).

use howlate_model::Margin;

use crate::{BlockNumbers, Interval, least_wakeups};

/// Wake-ups beyond the percentile at the first look, on average.
const BEYOND_AT_FIRST: u64 = 50;
/// Least wake-ups at the first look, however near to the middle the percentile is.
const LEAST_AT_FIRST: u64 = 10_000;
/// Looks in a row that must find the interval narrow enough.
const IN_A_ROW: u64 = 2;
/// Looks in a row if an earlier look had no interval, as batches were too correlated or too few: such a machine may drift for longer
/// than two looks see, and seems quiet while it is on the low side.
const IN_A_ROW_IF_CORRELATED: u64 = 3;

/// The looks at one percentile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    quantile: f64,
    within: Margin,
    /// Number of looks so far.
    pub(crate) taken: u64,
    /// The interval at the last look, if there was one.
    pub(crate) interval: Option<Interval>,
    next: u64,
    narrow: u64,
    in_a_row: u64,
}

impl Looks {
    /// Until the interval of the `quantile` reaches no further than `within` to both sides of its middle.
    pub(crate) fn until(quantile: f64, within: Margin) -> Self {
        Self {
            quantile,
            within,
            taken: 0,
            interval: None,
            next: first_look(quantile),
            narrow: 0,
            in_a_row: IN_A_ROW,
        }
    }

    /// Takes a look if `wakeups` have reached the next length.
    pub(crate) fn look<'a>(&mut self, wakeups: u64, numbers: impl FnOnce() -> BlockNumbers<'a>) {
        if self.reached() || wakeups < self.next {
            return;
        }
        // Several lengths passed in one step are one look.
        while self.next <= wakeups {
            self.next = next_look(self.next);
        }
        self.taken += 1;
        let before = std::mem::replace(&mut self.interval, numbers().skewed_interval(self.quantile));
        if self.interval.is_none() {
            self.in_a_row = IN_A_ROW_IF_CORRELATED;
        }
        let agrees = match (before, self.interval) {
            (Some(before), Some(now)) => {
                before.low.as_nanos() <= middle(now) && middle(now) <= before.high.as_nanos()
            }
            _ => true,
        };
        let is_narrow = self.relative_width().is_some_and(|share| share <= 1.0);
        self.narrow = if is_narrow { u64::from(agrees) * self.narrow + 1 } else { 0 };
    }

    /// Whether the percentile is known well enough.
    pub(crate) const fn reached(&self) -> bool {
        self.narrow >= self.in_a_row
    }

    /// Half width of the interval, relative to the requested one.
    pub(crate) fn relative_width(&self) -> Option<f64> {
        let interval = self.interval?;
        let half = (interval.high.as_nanos() - interval.low.as_nanos()) as f64 / 2.0;
        Some(half / self.within.nanos_around(middle(interval) as f64))
    }
}

/// The middle of an interval in nanoseconds.
fn middle(interval: Interval) -> i64 {
    interval.low.as_nanos().midpoint(interval.high.as_nanos())
}

const fn next_look(wakeups: u64) -> u64 {
    wakeups.saturating_add(wakeups / 2).saturating_add(1)
}

/// The wake-ups at which a `quantile` is first looked at.
fn first_look(quantile: f64) -> u64 {
    least_wakeups(quantile).saturating_mul(BEYOND_AT_FIRST).max(LEAST_AT_FIRST)
}

/// The least number of wake-ups until a `quantile` is known.
pub(crate) fn least_wakeups_until(quantile: f64) -> u64 {
    (1..IN_A_ROW).fold(first_look(quantile), |wakeups, _| next_look(wakeups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::analysis_of;
    use howlate_model::{Block, Latency, Line, Span, Wait, Work};

    /// Latencies of a block of a second, a little different from one block to the next.
    fn block(second: i64, wakeups: i64) -> Line {
        let mut block = Block::default();
        (0..wakeups).for_each(|number| {
            let late = 20_000 + (number * 37 + second * 11) % 4_000;
            block.latency.record(Latency::from_nanos(late));
        });
        Line::Block(Box::new(block))
    }

    fn looks_after(blocks: i64, wakeups: i64, within: Margin) -> Looks {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let (mut analysis, mut looks) = (analysis_of(&[work]), Looks::until(0.5, within));
        for second in 0..blocks {
            analysis.add(&block(second, wakeups));
            let outcome = &analysis.outcomes()[0];
            looks.look(outcome.count(), || outcome.planned_blocks());
        }
        looks
    }

    #[test]
    fn looks_become_rarer_and_two_in_a_row_must_be_narrow() {
        let within = Margin::Share(0.05);
        let at = |blocks: i64| looks_after(blocks, 1_000, within);
        assert_eq!((at(9).taken, at(10).taken, at(15).taken, at(16).taken), (0, 1, 1, 2));
        assert!(at(10).relative_width().unwrap() < 1.0, "{:?}", at(10));
        assert!(!at(10).reached() && at(16).reached());
        assert_eq!(least_wakeups_until(0.5), 15_001);
        assert_eq!(least_wakeups_until(0.999), 75_001);
        // Nothing more to look for.
        assert_eq!(at(200).taken, 2);
    }

    /// Looks, and looks with an interval, until the median is known for a machine that becomes slower by 4 µs a second for `rising` seconds.
    fn reached_after(rising: i64) -> (u64, u64) {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let (mut analysis, mut looks) = (analysis_of(&[work]), Looks::until(0.5, Margin::Share(10.0)));
        let mut with_interval = 0;
        for second in 0..400 {
            let mut block = Block::default();
            let level = 20_000 + 4_000 * second.min(rising) + second * 911 % 1_500;
            (0..1_000).for_each(|number| block.latency.record(Latency::from_nanos(level + number)));
            analysis.add(&Line::Block(Box::new(block)));
            let (outcome, taken) = (&analysis.outcomes()[0], looks.taken);
            looks.look(outcome.count(), || outcome.planned_blocks());
            with_interval += u64::from(looks.taken > taken && looks.interval.is_some());
            if looks.reached() {
                break;
            }
        }
        (looks.taken, with_interval)
    }

    #[test]
    fn who_was_once_seen_to_wander_is_believed_later() {
        assert_eq!(reached_after(0), (2, 2));
        let (taken, with_interval) = reached_after(12);
        assert!(taken > 3 && with_interval == 3, "{taken} {with_interval}");
    }

    #[test]
    fn what_is_not_narrow_enough_is_looked_at_again() {
        let looks = looks_after(60, 1_000, Margin::Length(Span::from_nanos(10)));
        assert!(!looks.reached() && looks.relative_width().unwrap() > 1.0, "{looks:?}");
        // 10 000, 15 001, 22 502, 33 754 and 50 632.
        assert_eq!((looks.taken, looks.next), (5, 75_949));
        // All at once is one look.
        assert_eq!(looks_after(1, 100_000, Margin::Share(0.05)).taken, 1);
    }
}
