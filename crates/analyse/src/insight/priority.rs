//! What real-time priority changes, where conditions that differ in nothing else took turns.

use howlate_model::{Condition, Latency, Policy};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Indexed, by_node};
use crate::{Outcome, Ratio, ratio};

/// With real-time priority, turns begin earlier: the 95 % interval of how many times as late does not hold 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Priority {
    /// The condition with ordinary scheduling, then the one with real-time priority, by index in the recording's header.
    pub conditions: Vec<u32>,
    /// The real-time policy.
    pub policy: Policy,
    /// 99 of 100 are at most this late with ordinary scheduling.
    #[serde(rename = "ordinary_p99_ns")]
    pub ordinary: Latency,
    /// The same with real-time priority.
    #[serde(rename = "realtime_p99_ns")]
    pub realtime: Latency,
    /// How many times as late they are with real-time priority: lower end.
    pub ratio_low: f64,
    /// Upper end, below 1.
    pub ratio_high: f64,
    /// Pairs of turns that say so.
    pub pairs: usize,
}

/// That of the ordinary condition that is the latest. All pairs might have been named, so that the interval is one of all
/// of them together.
pub(super) fn find(all: &[Indexed<'_>]) -> Option<Priority> {
    let pairs = pairs(all);
    let p99 = |outcome: &Outcome| outcome.percentile(0.99);
    let (ordinary, realtime) = pairs.iter().max_by_key(|(ordinary, _)| p99(ordinary.1))?;
    let (before, after) = (p99(ordinary.1)?, p99(realtime.1)?);
    match ratio(ordinary.1, realtime.1, |turn| turn.p99, pairs.len()) {
        Ratio::Settled { low, high, pairs } if high < 1.0 => Some(Priority {
            conditions: vec![ordinary.0, realtime.0],
            policy: realtime.1.condition.policy,
            ordinary: before,
            realtime: after,
            ratio_low: low,
            ratio_high: high,
            pairs,
        }),
        _ => None,
    }
}

/// Each condition with ordinary scheduling beside the first that differs from it in real-time priority alone.
fn pairs<'a>(all: &[Indexed<'a>]) -> Vec<(Indexed<'a>, Indexed<'a>)> {
    by_node(all).iter().flat_map(|node| pairs_of_node(node)).collect()
}

fn pairs_of_node<'a>(all: &[Indexed<'a>]) -> Vec<(Indexed<'a>, Indexed<'a>)> {
    let is_as_asked = |outcome: &Outcome| outcome.ran_as().is_none();
    let ordinary = all.iter().filter(|(_, outcome)| outcome.condition.policy == Policy::OTHER);
    let partner = |of: &Outcome| {
        let is_one = |other: &Outcome| {
            other.condition.policy.is_realtime()
                && is_as_asked(other)
                && Condition { policy: Policy::OTHER, ..other.condition.clone() } == of.condition
        };
        all.iter().copied().find(|(_, other)| is_one(other))
    };
    ordinary.filter_map(|one| Some((*one, partner(one.1)?))).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::{Block, Line, MonotonicTime, Policy, Priority as Number, Span, Wait, Wakeup, Work};

    use super::*;
    use crate::testing::analysis_of;

    /// A turn with enough wake-ups for a 99th percentile.
    fn turn(condition: u32, round: u32, late: i64) -> Line {
        let mut block = Block { condition, round, ..Block::default() };
        let at = MonotonicTime::from_nanos;
        (0..100).for_each(|_| block.record(Wakeup { expected: at(0), ran: at(late) }, None));
        Line::Block(Box::new(block))
    }

    fn found(late: impl Fn(u32, u32) -> i64) -> Option<Priority> {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = analysis_of(&[work, work]).header;
        header.conditions[1].policy = Policy::Fifo { priority: Number::USUAL };
        let mut analysis = crate::Analysis::new(header);
        for round in 0..10 {
            (0..2).for_each(|one| analysis.add(&turn(one, round, late(one, round))));
        }
        let all: Vec<Indexed<'_>> = (0..).zip(analysis.outcomes()).collect();
        find(&all)
    }

    #[test]
    fn what_the_turns_bear_out_is_said_and_nothing_else() {
        let gain = found(|one, round| if one == 0 { 90_000 + i64::from(round) } else { 10_000 }).unwrap();
        assert_eq!(gain.conditions, [0, 1]);
        assert!(gain.ratio_low > 0.1 && gain.ratio_high < 0.12, "{gain:?}");
        let noise = |one: u32, round: u32| if (one + round).is_multiple_of(2) { 90_000 } else { 10_000 };
        assert_eq!(found(noise), None);
        assert_eq!(found(|one, _| if one == 0 { 10_000 } else { 90_000 }), None, "it made it worse");
    }
}
