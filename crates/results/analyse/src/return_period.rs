//! How often, and how soon, a maximum may be exceeded, and on which assumptions.

use howlate_model::Span;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;
use crate::exceedance::{new_maximum_probability, rate_at_most};

/// Confidence of the bounds.
const CONFIDENCE: f64 = 0.95;
const HOUR: f64 = 3_600.0;
const DAY: f64 = 24.0 * HOUR;

/// How a maximum may be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Larger")]
pub struct LargerLatencies {
    /// The time in which the maximum was seen.
    #[serde(rename = "covered_ns")]
    pub covered: Span,
    /// What is said of larger ones to come; absent where neighbouring stretches of the run are so alike that it was too short for how
    /// slowly the machine wanders, and nothing can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_come: Option<LargerRates>,
}

/// What is said of larger ones to come, as long as the machine does what it did in the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ToCome")]
pub struct LargerRates {
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

/// Rate of larger latencies than the maximum of a condition; `None` without wake-ups, or if its length is unknown.
pub fn larger_latencies(outcome: &Outcome) -> Option<LargerLatencies> {
    let (blocks, lasted) = outcome.planned_blocks().extent();
    let covered = lasted.times(blocks);
    let seconds = covered.as_secs_f64();
    if outcome.count() == 0 || seconds <= 0.0 {
        return None;
    }
    let to_come = outcome.bound().and_then(|bound| {
        Some(LargerRates {
            per_hour_at_most: rate_at_most(0, seconds / HOUR / bound.inflation, CONFIDENCE)?,
            confidence: CONFIDENCE,
            next_hour: new_maximum_probability(HOUR, seconds),
            next_day: new_maximum_probability(DAY, seconds),
        })
    });
    Some(LargerLatencies { covered, to_come })
}

/// How often a change must occur within the run. Found by simulation (`cargo xtask bench statistics`): with a level that drifts over
/// a thirtieth of the run, one in six statements about p99 is wrong; over a hundredth, one in twenty.
const CHANGES_COVERED: u64 = 100;

/// The slowest change covered by statements about a run of this length.
///
/// Every confidence of a single run comes from how much its batches differ, and none of them knows a state that lasts longer
/// than the run: a machine that alternates between fast and slow every minute looks steady to most runs of ten seconds, and no
/// rule that reads only such a run can tell.
pub const fn slowest_covered(run: Span) -> Span {
    Span::from_nanos(run.as_nanos() / CHANGES_COVERED)
}

/// How often a change must occur within the run for percentiles beyond p99, which come from the few highest excursions of a machine.
/// Found by simulation: with a level that drifts over a hundredth of the run, one in twelve bands of p99.9 is wrong; over a
/// three-hundredth, one in thirty.
const CHANGES_COVERED_BEYOND_P99: u64 = 300;

/// The slowest change covered by intervals of percentiles beyond p99.
pub const fn slowest_covered_beyond_p99(run: Span) -> Span {
    Span::from_nanos(run.as_nanos() / CHANGES_COVERED_BEYOND_P99)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::analysis_of;
    use howlate_model::{Block, Line, MonotonicTime, Wait, Wakeup, Work};

    /// `seconds` seconds with a wake-up each millisecond, whose latencies are `late(second, number)`.
    fn forecast(seconds: i64, late: impl Fn(i64, i64) -> i64) -> Option<LargerLatencies> {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work]);
        for second in 0..seconds {
            let from = MonotonicTime::from_nanos(second * 1_000_000_000);
            let mut block = Block { from, until: from.plus(Span::from_secs(1)), ..Block::default() };
            for number in 0..1_000 {
                let expected = from.plus(Span::from_millis(u64::try_from(number).unwrap()));
                let late = Span::from_nanos(late(second, number).unsigned_abs());
                block.record(Wakeup { expected, ran: expected.plus(late) }, None);
            }
            analysis.add(&Line::Block(Box::new(block)));
        }
        larger_latencies(&analysis.outcomes()[0])
    }

    #[test]
    fn an_hour_is_as_likely_to_bring_a_larger_one_as_the_hour_before() {
        let all = forecast(1_200, |second, number| 5_000 + (second * 7_919 + number * 31) % 997).unwrap();
        assert_eq!(all.covered, Span::from_secs(1_200));
        let to_come = all.to_come.unwrap();
        // An hour after a third of one, and a day.
        assert!((to_come.next_hour - 0.75).abs() < 1e-9 && (to_come.next_day - 72.0 / 73.0).abs() < 1e-9);
        // 2.9957 in the time that was measured, where all of it counts; less of it does.
        assert!((8.98..20.0).contains(&to_come.per_hour_at_most), "{to_come:?}");
    }

    #[test]
    fn of_a_machine_that_wanders_nothing_is_said() {
        let wandering = forecast(60, |second, number| 5_000 + 100 * second + number % 7).unwrap();
        assert_eq!(wandering.to_come, None);
        assert_eq!(forecast(0, |_, _| 0), None);
    }

    #[test]
    fn a_minute_says_nothing_of_what_lasts_for_seconds() {
        assert_eq!(slowest_covered(Span::from_secs(60)), Span::from_millis(600));
        assert_eq!(slowest_covered(Span::ZERO), Span::ZERO);
        assert_eq!(slowest_covered_beyond_p99(Span::from_secs(60)), Span::from_millis(200));
    }
}
