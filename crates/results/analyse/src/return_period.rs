//! How often, and how soon, a maximum may be exceeded; with what that takes for granted.

use howlate_model::Span;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;
use crate::exceedance::{beaten_within, rate_at_most};

/// Of the numbers that are bounds.
const CONFIDENCE: f64 = 0.95;
const HOUR: f64 = 3_600.0;
const DAY: f64 = 24.0 * HOUR;

/// How a maximum may be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Larger {
    /// The time in which the maximum was seen.
    #[serde(rename = "covered_ns")]
    pub covered: Span,
    /// What is said of larger ones to come; absent where neighbouring stretches of the run are so alike that it was too short for how
    /// slowly the machine wanders, and nothing can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_come: Option<ToCome>,
}

/// What is said of larger ones to come, as long as the machine does what it did in the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToCome {
    /// How often in an hour at most, with this confidence, where late wake-ups come at a steady rate and those that come together
    /// count once.
    pub per_hour_at_most: f64,
    /// Of that bound.
    pub confidence: f64,
    /// The probability that the next hour brings one. No distribution is assumed, only that no moment is special.
    pub next_hour: f64,
    /// The same of the next day.
    pub next_day: f64,
}

/// What the maximum of a condition leaves open; `None` where there is none, or it is not known how long it was measured.
pub fn larger(outcome: &Outcome) -> Option<Larger> {
    let (blocks, lasted) = outcome.planned_blocks().extent();
    let covered = lasted.times(blocks);
    let seconds = covered.as_secs_f64();
    if outcome.count() == 0 || seconds <= 0.0 {
        return None;
    }
    let to_come = outcome.bound().and_then(|bound| {
        Some(ToCome {
            per_hour_at_most: rate_at_most(0, seconds / HOUR / bound.inflation, CONFIDENCE)?,
            confidence: CONFIDENCE,
            next_hour: beaten_within(HOUR, seconds),
            next_day: beaten_within(DAY, seconds),
        })
    });
    Some(Larger { covered, to_come })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::analysis_of;
    use howlate_model::{Block, Line, MonotonicTime, Wait, Wakeup, Work};

    /// So many seconds of a wake-up each millisecond, as late as `late` says.
    fn measured(seconds: i64, late: impl Fn(i64, i64) -> i64) -> Option<Larger> {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work]);
        for second in 0..seconds {
            let from = MonotonicTime::from_nanos(second * 1_000_000_000);
            let mut block = Block { from, until: from.plus(Span::from_secs(1)), ..Block::default() };
            for one in 0..1_000 {
                let expected = from.plus(Span::from_millis(u64::try_from(one).unwrap()));
                let late = Span::from_nanos(late(second, one).unsigned_abs());
                block.record(Wakeup { expected, ran: expected.plus(late) }, None);
            }
            analysis.add(&Line::Block(Box::new(block)));
        }
        larger(&analysis.outcomes()[0])
    }

    #[test]
    fn an_hour_is_as_likely_to_bring_a_larger_one_as_the_hour_before() {
        let all = measured(1_200, |second, one| 5_000 + (second * 7_919 + one * 31) % 997).unwrap();
        assert_eq!(all.covered, Span::from_secs(1_200));
        let to_come = all.to_come.unwrap();
        // An hour after a third of one, and a day.
        assert!((to_come.next_hour - 0.75).abs() < 1e-9 && (to_come.next_day - 72.0 / 73.0).abs() < 1e-9);
        // 2.9957 in the time that was measured, where all of it counts; less of it does.
        assert!((8.98..20.0).contains(&to_come.per_hour_at_most), "{to_come:?}");
    }

    #[test]
    fn of_a_machine_that_wanders_nothing_is_said() {
        let wandering = measured(60, |second, one| 5_000 + 100 * second + one % 7).unwrap();
        assert_eq!(wandering.to_come, None);
        assert_eq!(measured(0, |_, _| 0), None);
    }
}
