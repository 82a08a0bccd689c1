//! Confidence of statistics, in sentences.

use std::borrow::Borrow;

use howlate_analyse::{LargerLatencies, Outcome, larger_latencies, slowest_covered};
use howlate_model::Distribution;

use crate::numbers::{count, rough, round};
use crate::result_columns::ColumnSpec;

/// A looser bound on the maximum says no more than the percentiles.
const WORTH_TELLING: u64 = 1_000;

/// The weakest bound on the maxima of several conditions.
pub fn what_the_maxima_support<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<String> {
    let bounds = outcomes.filter_map(|outcome| Some((outcome, outcome.bound()?)));
    let (outcome, bound) = bounds.min_by_key(|(_, bound)| bound.one_in)?;
    (bound.one_in > 1).then(|| match bound.one_in {
        ..WORTH_TELLING => "A longer run may well exceed the maximum: this one is too short to bound it.".to_owned(),
        one_in => format!(
            "A longer run may exceed the maximum: up to 1 in {} wake-ups could be later (95 % confidence for what changes within {}, clustering included).",
            count(one_in),
            covered_changes(outcome)
        ),
    })
}

/// The slowest change that the confidence of a condition's intervals and bounds covers.
pub(crate) fn covered_changes(outcome: &Outcome) -> String {
    let (blocks, lasted) = outcome.planned_blocks().extent();
    rough(slowest_covered(lasted.times(blocks)))
}

/// How often and how soon the maxima of several conditions may be exceeded, and the assumptions: of the condition with least evidence, or why there is no bound.
pub fn larger_ones<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<String> {
    let rate =
        |larger: &LargerLatencies| larger.to_come.map_or(f64::INFINITY, |to_come| to_come.per_hour_at_most);
    let all = outcomes.filter_map(larger_latencies);
    let weakest = all.max_by(|larger, other| rate(larger).total_cmp(&rate(other)))?;
    let measured = rough(weakest.covered);
    Some(match weakest.to_come {
        Some(to_come) => format!(
            "After {measured}: a larger maximum at most {} times per hour (95 % confidence); its probability is {} within the next hour and {} within the next day. This assumes that late wake-ups come independently at a steady rate (clusters count once) and that the machine behaves as in this run.",
            round(to_come.per_hour_at_most),
            probability(to_come.next_hour),
            probability(to_come.next_day)
        ),
        None => {
            format!("No bound on later maxima: {measured} is too short to judge how this machine drifts.")
        }
    })
}

fn probability(probability: f64) -> String {
    let percent = 100.0 * probability;
    if percent > 99.9 { "more than 99.9 %".to_owned() } else { format!("{percent:.1} %") }
}

/// Which percentiles need more wake-ups than some outcome has.
pub(crate) fn left_out(outcomes: &[&Outcome], percentiles: &[ColumnSpec]) -> Option<String> {
    too_few(outcomes.iter().map(|outcome| outcome.planned()), percentiles)
}

/// Like `left_out`, for distributions.
pub(crate) fn too_few<D: Borrow<Distribution>>(
    all: impl IntoIterator<Item = D>,
    percentiles: &[ColumnSpec],
) -> Option<String> {
    let least = all.into_iter().map(|distribution| distribution.borrow().count()).min()?;
    let needs = |column: &ColumnSpec| format!("{} needs {}", column.heading, count(column.least));
    let missing: Vec<String> = percentiles.iter().filter(|column| least < column.least).map(needs).collect();
    (!missing.is_empty()).then(|| format!("–: too few wake-ups ({}).", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use howlate_analyse::Analysis;
    use howlate_model::{Block, Condition, Header, Line, MonotonicTime, Span, Wait, Wakeup, Work};

    use super::*;

    /// Wake-ups over so many seconds, with latencies by `late`.
    fn sentence(seconds: i64, late: fn(i64, i64) -> i64) -> String {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let header = Header::for_conditions(vec![Condition::new(work, "6.1.0")]);
        let mut analysis = Analysis::new(header);
        for second in 0..seconds {
            let from = MonotonicTime::from_nanos(second * 1_000_000_000);
            let mut block = Block { from, until: from.plus(Span::from_secs(1)), ..Block::default() };
            for number in 0..100 {
                let ran = from.plus(Span::from_nanos(late(second, number).unsigned_abs()));
                block.record(Wakeup { expected: from, ran }, None);
            }
            analysis.add(&Line::Block(Box::new(block)));
        }
        larger_ones(analysis.outcomes().iter()).unwrap()
    }

    #[test]
    fn a_bound_is_told_with_what_it_assumes_and_a_refusal_with_its_reason() {
        let bound = sentence(600, |second, number| 5_000 + (second * 7_919 + number * 31) % 997);
        assert!(
            bound.contains("its probability is 85.7 % within the next hour and 99.3 % within the next day"),
            "{bound}"
        );
        assert!(
            bound.contains("times per hour (95 % confidence)") && bound.contains("This assumes"),
            "{bound}"
        );
        let refused = sentence(60, |second, number| 5_000 + 100 * second + number % 7);
        assert!(refused.contains("1 min 00 s is too short to judge how this machine drifts"), "{refused}");
    }
}
