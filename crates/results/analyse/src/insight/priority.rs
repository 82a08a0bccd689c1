//! What real-time priority changes, where conditions that differ in nothing else took turns.

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
pub struct Priority {
    /// The conditions with ordinary scheduling, one for each thread of the loop, then as many with real-time priority, by index in the
    /// recording's header.
    pub conditions: Vec<u32>,
    /// The real-time policy.
    pub policy: Policy,
    /// The p99 of a typical turn with ordinary scheduling: of turns, as the ratio is, and not of all wake-ups together, which one
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

/// A loop with ordinary scheduling, and the one that differs from it in real-time priority alone.
struct Pair<'a> {
    ordinary: Vec<Indexed<'a>>,
    realtime: Vec<Indexed<'a>>,
}

/// That of the ordinary loop that is the latest. All pairs might have been named, so that the interval is one of all of them
/// together.
pub(super) fn find(all: &[Indexed<'_>]) -> Option<Priority> {
    let pairs = pairs(all);
    let latest = pairs.iter().max_by_key(|pair| p99(&pair.ordinary))?;
    let (ordinary, realtime) = (p99(&latest.ordinary)?, p99(&latest.realtime)?);
    match ratio_of_loops(&latest.threads(), |turn| turn.p99, pairs.len()) {
        // Two numbers that say the contrary of the pairs leave it open which of them is right.
        Ratio::Settled { low, high, pairs } if high < 1.0 && realtime < ordinary => Some(Priority {
            conditions: latest.ordinary.iter().chain(&latest.realtime).map(|one| one.0).collect(),
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

/// Of a typical turn (Hodges–Lehmann, of logarithms, as the ratio is); threads that ran side by side are one turn.
fn p99(threads: &[Indexed<'_>]) -> Option<Latency> {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for turn in threads.iter().flat_map(|(_, outcome)| outcome.turns()) {
        let p99 = turn.p99.map(|latency| (latency.as_nanos().max(1) as f64).ln());
        rounds.entry(turn.round).or_default().extend(p99);
    }
    rounds.retain(|_, of_threads| !of_threads.is_empty());
    let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
    let typical = centre(&rounds.into_values().map(mean).collect::<Vec<_>>())?.exp();
    #[allow(clippy::cast_possible_truncation, reason = "a latency of nanoseconds")]
    Some(Latency::from_nanos(typical.round() as i64))
}

/// Each loop with ordinary scheduling beside the first that differs from it in real-time priority alone.
fn pairs<'a>(all: &[Indexed<'a>]) -> Vec<Pair<'a>> {
    let loops = loops(all);
    let of_policy =
        |is_one: fn(&Outcome) -> bool| loops.iter().filter(move |one| one.iter().all(|one| is_one(one.1)));
    let ordinary = of_policy(|outcome| outcome.condition.policy == Policy::OTHER);
    let realtime: Vec<&Vec<Indexed<'a>>> =
        of_policy(|outcome| outcome.condition.policy.is_realtime() && outcome.fallback_policy().is_none())
            .collect();
    let pair = |ordinary: &Vec<Indexed<'a>>| {
        let partner = realtime.iter().find(|realtime| is_partner(ordinary, realtime))?;
        Some(Pair { ordinary: ordinary.clone(), realtime: (*partner).clone() })
    };
    ordinary.filter_map(pair).collect()
}

/// Whether each thread of one has its like in the other, but for the policy.
fn is_partner(ordinary: &[Indexed<'_>], realtime: &[Indexed<'_>]) -> bool {
    ordinary.len() == realtime.len() && ordinary.iter().all(|(_, one)| like(one, realtime).is_some())
}

fn like<'a>(ordinary: &Outcome, realtime: &[Indexed<'a>]) -> Option<&'a Outcome> {
    let is_like = |other: &Outcome| {
        Condition { policy: Policy::OTHER, ..other.condition.clone() } == ordinary.condition
    };
    realtime.iter().map(|(_, other)| *other).find(|other| is_like(other))
}

impl<'a> Pair<'a> {
    /// Each thread beside its like.
    fn threads(&self) -> Vec<(&'a Outcome, &'a Outcome)> {
        let beside = |(_, ordinary): &Indexed<'a>| Some((*ordinary, like(ordinary, &self.realtime)?));
        self.ordinary.iter().filter_map(beside).collect()
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
        // One bad turn of ten, which is all that a percentile of all wake-ups shows.
        let one_bad = found(|one, round| match (one, round) {
            (1, 3) => 300_000,
            (0, _) => 90_000 + i64::from(round),
            _ => 10_000,
        });
        let one_bad = one_bad.unwrap();
        assert!(one_bad.realtime < one_bad.ordinary, "{one_bad:?}");
        assert!(one_bad.realtime.as_nanos() < 20_000 && one_bad.ratio_high < 1.0, "{one_bad:?}");
        let noise = |one: u32, round: u32| if (one + round).is_multiple_of(2) { 90_000 } else { 10_000 };
        assert_eq!(found(noise), None);
        assert_eq!(found(|one, _| if one == 0 { 10_000 } else { 90_000 }), None, "it made it worse");
    }
}
