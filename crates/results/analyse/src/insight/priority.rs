//! The effect of real-time priority, where conditions that differ in nothing else took turns.

use std::collections::BTreeMap;

use howlate_model::{Condition, Latency, Policy};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Indexed, loops};
use crate::compare::centre;
use crate::ratio::ratio_of_loops;
use crate::{Outcome, Ratio};

/// With real-time priority, turns begin earlier: the 95 % interval of how many times as late does not hold 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Priority")]
pub struct PriorityEffect {
    /// The conditions with normal scheduling, one for each thread of the loop, then as many with real-time priority, by index in the
    /// recording's header.
    pub conditions: Vec<u32>,
    /// The real-time policy.
    pub policy: Policy,
    /// The p99 of a typical turn with normal scheduling: of turns, as the ratio is, and not of all wake-ups together, which one
    /// bad turn may make.
    #[serde(rename = "ordinary_p99_ns")]
    pub ordinary: Latency,
    /// The same with real-time priority; less.
    #[serde(rename = "realtime_p99_ns")]
    pub realtime: Latency,
    /// How many times as late they are with real-time priority: lower end.
    pub ratio_low: f64,
    /// Upper end, below 1.
    pub ratio_high: f64,
    /// Pairs of turns that say so.
    pub pairs: usize,
}

/// A loop with normal scheduling, and one that differs from it only in real-time priority.
struct PolicyPair<'a> {
    ordinary: Vec<Indexed<'a>>,
    realtime: Vec<Indexed<'a>>,
}

/// The effect for the ordinary loop with the largest p99. Any of the pairs might have been chosen, so that the interval covers all of
/// them together.
pub(super) fn find(all: &[Indexed<'_>]) -> Option<PriorityEffect> {
    let pairs = pairs(all);
    let latest = pairs.iter().max_by_key(|pair| p99(&pair.ordinary))?;
    let (ordinary, realtime) = (p99(&latest.ordinary)?, p99(&latest.realtime)?);
    match ratio_of_loops(&latest.threads(), |turn| turn.p99, pairs.len()) {
        // If the typical values contradict the pairs, it is open which of them is right.
        Ratio::Settled { low, high, pairs } if high < 1.0 && realtime < ordinary => Some(PriorityEffect {
            conditions: latest.ordinary.iter().chain(&latest.realtime).map(|indexed| indexed.0).collect(),
            policy: latest.realtime.first()?.1.condition.policy,
            ordinary,
            realtime,
            ratio_low: low,
            ratio_high: high,
            pairs,
        }),
        _ => None,
    }
}

/// The p99 of a typical turn (Hodges–Lehmann, of logarithms, like the ratio); threads that ran side by side are one turn.
fn p99(threads: &[Indexed<'_>]) -> Option<Latency> {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for turn in threads.iter().flat_map(|(_, outcome)| outcome.turns()) {
        let p99 = turn.p99.map(|latency| (latency.as_nanos().max(1) as f64).ln());
        rounds.entry(turn.round).or_default().extend(p99);
    }
    rounds.retain(|_, values| !values.is_empty());
    let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
    let typical = centre(&rounds.into_values().map(mean).collect::<Vec<_>>())?.exp();
    #[allow(clippy::cast_possible_truncation, reason = "a latency of nanoseconds")]
    Some(Latency::from_nanos(typical.round() as i64))
}

/// Each loop with normal scheduling, with the first one that differs from it only in real-time priority.
fn pairs<'a>(all: &[Indexed<'a>]) -> Vec<PolicyPair<'a>> {
    let loops = loops(all);
    let of_policy = |is_policy: fn(&Outcome) -> bool| {
        loops.iter().filter(move |threads| threads.iter().all(|thread| is_policy(thread.1)))
    };
    let ordinary = of_policy(|outcome| outcome.condition.policy == Policy::OTHER);
    let realtime: Vec<&Vec<Indexed<'a>>> =
        of_policy(|outcome| outcome.condition.policy.is_realtime() && outcome.fallback_policy().is_none())
            .collect();
    let pair = |ordinary: &Vec<Indexed<'a>>| {
        let partner = realtime.iter().find(|realtime| is_partner(ordinary, realtime))?;
        Some(PolicyPair { ordinary: ordinary.clone(), realtime: (*partner).clone() })
    };
    ordinary.filter_map(pair).collect()
}

/// Whether each thread of one has its counterpart in the other, equal but for the policy.
fn is_partner(ordinary: &[Indexed<'_>], realtime: &[Indexed<'_>]) -> bool {
    ordinary.len() == realtime.len()
        && ordinary.iter().all(|(_, thread)| counterpart(thread, realtime).is_some())
}

fn counterpart<'a>(ordinary: &Outcome, realtime: &[Indexed<'a>]) -> Option<&'a Outcome> {
    let is_counterpart = |other: &Outcome| {
        Condition { policy: Policy::OTHER, ..other.condition.clone() } == ordinary.condition
    };
    realtime.iter().map(|(_, other)| *other).find(|other| is_counterpart(other))
}

impl<'a> PolicyPair<'a> {
    /// Each thread with its counterpart.
    fn threads(&self) -> Vec<(&'a Outcome, &'a Outcome)> {
        let pair = |(_, ordinary): &Indexed<'a>| Some((*ordinary, counterpart(ordinary, &self.realtime)?));
        self.ordinary.iter().filter_map(pair).collect()
    }
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

    fn found(late: impl Fn(u32, u32) -> i64) -> Option<PriorityEffect> {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = analysis_of(&[work, work]).header;
        header.conditions[1].policy = Policy::Fifo { priority: Number::USUAL };
        let mut analysis = crate::Analysis::new(header);
        for round in 0..10 {
            (0..2).for_each(|condition| analysis.add(&turn(condition, round, late(condition, round))));
        }
        let all: Vec<Indexed<'_>> = (0..).zip(analysis.outcomes()).collect();
        find(&all)
    }

    #[test]
    fn what_the_turns_bear_out_is_said_and_nothing_else() {
        let gain = found(|condition, round| if condition == 0 { 90_000 + i64::from(round) } else { 10_000 })
            .unwrap();
        assert_eq!(gain.conditions, [0, 1]);
        assert!(gain.ratio_low > 0.1 && gain.ratio_high < 0.12, "{gain:?}");
        // One bad turn of ten, which is all that a percentile of all wake-ups shows.
        let one_bad = found(|condition, round| match (condition, round) {
            (1, 3) => 300_000,
            (0, _) => 90_000 + i64::from(round),
            _ => 10_000,
        });
        let one_bad = one_bad.unwrap();
        assert!(one_bad.realtime < one_bad.ordinary, "{one_bad:?}");
        assert!(one_bad.realtime.as_nanos() < 20_000 && one_bad.ratio_high < 1.0, "{one_bad:?}");
        let noise =
            |condition: u32, round: u32| if (condition + round).is_multiple_of(2) { 90_000 } else { 10_000 };
        assert_eq!(found(noise), None);
        assert_eq!(
            found(|condition, _| if condition == 0 { 10_000 } else { 90_000 }),
            None,
            "it made it worse"
        );
    }
}
