//! Ranks notification mechanisms: which is fastest, by how much, and which are indistinguishable.

use std::cmp::Ordering;
use std::collections::HashMap;

use howlate_model::{Condition, Latency, Notifier, ReceiverCpu, Span, Work};
use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::{SignedRank, least_pairs};
use crate::{Analysis, Interval, Outcome, TurnNumber, grouped};

/// Significance level of all statements of a ranking together.
const ALPHA: f64 = 0.05;

/// The ways to notify under the same circumstances, in order of their medians.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ranking {
    /// The circumstances, with the mechanism that all are compared with: the lowest median of those that do
    /// not burn a CPU, or of all when every one does.
    pub fastest: Condition,
    /// All of them.
    pub places: Vec<RankedMechanism>,
    /// Those that leave the CPU to others and that no other of these beats, in order of their medians. One beats
    /// another that is told apart from it as earlier at the median or at p99, and as later at neither.
    pub best: Vec<Notifier>,
    /// Rounds in which all took turns.
    pub rounds: usize,
    /// Rounds that it takes to tell anything apart among so many.
    pub rounds_needed: usize,
}

impl Ranking {
    /// Whether there were enough rounds to tell any mechanisms apart.
    pub const fn has_enough_rounds(&self) -> bool {
        self.rounds >= self.rounds_needed
    }
}

/// One way to notify within a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct RankedMechanism {
    /// The mechanism that has this rank.
    pub mechanism: Notifier,
    /// Its median latency.
    #[serde(rename = "p50_ns")]
    pub p50: Latency,
    /// Its 99th percentile; absent below 100 wake-ups.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "p99_ns")]
    pub p99: Option<Latency>,
    /// Whether the receiver keeps its CPU busy while it waits.
    pub burns_cpu: bool,
    /// By how much its median is later than that of the fastest: interval of the difference of turns of the
    /// same round; 95 % for all intervals of the ranking together. Absent for the fastest itself, and with too few rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower_ns: Option<Interval>,
    /// The same of the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower_p99_ns: Option<Interval>,
}

impl RankedMechanism {
    /// Whether it certainly differs from the fastest, at the median or at p99.
    pub fn is_distinguishable(&self) -> bool {
        let apart = |by: Interval| by.low.as_nanos() > 0 || by.high.as_nanos() < 0;
        self.slower_ns.is_some_and(apart) || self.slower_p99_ns.is_some_and(apart)
    }
}

/// Outcomes of notifications under the requested policy; if that was refused, they are not compared.
fn notifications(analysis: &Analysis) -> impl Iterator<Item = &Outcome> {
    let counts = |outcome: &&Outcome| {
        outcome.condition.work.notifier().is_some() && outcome.fallback_policy().is_none()
    };
    analysis.outcomes().iter().filter(counts)
}

/// One ranking for each set of circumstances under which several mechanisms were measured.
pub fn rankings(analysis: &Analysis) -> Vec<Ranking> {
    let groups = grouped(notifications(analysis).map(|outcome| (circumstances(outcome), outcome)));
    groups.iter().filter_map(|group| Candidates::from_outcomes(group)?.ranking()).collect()
}

/// The condition without its mechanism.
fn circumstances(outcome: &Outcome) -> Condition {
    let mut condition = outcome.condition.clone();
    if let Work::Notify { mechanism, .. } = &mut condition.work {
        *mechanism = Notifier::Futex;
    }
    condition
}

/// One mechanism in a ranking.
struct Candidate<'a> {
    outcome: &'a Outcome,
    mechanism: Notifier,
    p50: Latency,
    turns: Vec<TurnNumber>,
}

impl<'a> Candidate<'a> {
    fn from_outcome(outcome: &'a Outcome) -> Option<Self> {
        let (mechanism, p50) = (outcome.condition.work.notifier()?, outcome.latency().quantile(0.5)?);
        Some(Self { outcome, mechanism, p50, turns: outcome.turns() })
    }
}

/// What mechanisms are compared by.
type Number = fn(&TurnNumber) -> Option<Latency>;

const MEDIAN: Number = |turn| turn.p50;
const P99: Number = |turn| turn.p99;

/// All candidates, in order of their medians, and the significance level of each comparison.
struct Candidates<'a> {
    candidates: Vec<Candidate<'a>>,
    level: f64,
}

impl<'a> Candidates<'a> {
    /// `None` if there is nothing to compare.
    fn from_outcomes(group: &[&'a Outcome]) -> Option<Self> {
        let mut candidates: Vec<Candidate<'a>> =
            group.iter().filter_map(|outcome| Candidate::from_outcome(outcome)).collect();
        candidates.sort_by_key(|candidate| candidate.p50);
        let pairs = candidates.len() * candidates.len().saturating_sub(1) / 2;
        // Two numbers of every pair: the best-looking pair was chosen among all.
        (pairs > 0).then_some(Self { candidates, level: ALPHA / (2 * pairs) as f64 })
    }

    fn ranking(&self) -> Option<Ranking> {
        let fastest = self.contenders().next()?;
        let place = |candidate: &Candidate<'_>| {
            let other = !std::ptr::eq(candidate.outcome, fastest.outcome);
            let slower =
                |number: Number| if other { self.interval(candidate, fastest, number) } else { None };
            let p99 = candidate.outcome.latency().quantile(0.99);
            RankedMechanism {
                mechanism: candidate.mechanism,
                p50: candidate.p50,
                p99: p99.filter(|_| candidate.outcome.count() >= 100),
                burns_cpu: candidate.mechanism.burns_cpu(),
                slower_ns: slower(MEDIAN),
                slower_p99_ns: slower(P99),
            }
        };
        let unbeaten =
            |candidate: &&Candidate<'_>| !self.contenders().any(|other| self.beats(other, candidate));
        Some(Ranking {
            fastest: fastest.outcome.condition.clone(),
            places: self.candidates.iter().map(place).collect(),
            best: self.contenders().filter(unbeaten).map(|candidate| candidate.mechanism).collect(),
            rounds: self.candidates.iter().map(|candidate| candidate.turns.len()).min().unwrap_or(0),
            rounds_needed: least_pairs(self.level),
        })
    }

    /// Candidates that leave the CPU to others; all of them if none does.
    fn contenders(&self) -> impl Iterator<Item = &Candidate<'a>> {
        let all_burn = self.candidates.iter().all(|candidate| candidate.mechanism.burns_cpu());
        self.candidates.iter().filter(move |candidate| all_burn || !candidate.mechanism.burns_cpu())
    }

    fn beats(&self, first: &Candidate<'_>, second: &Candidate<'_>) -> bool {
        let orders = [MEDIAN, P99].map(|number| self.order(first, second, number));
        orders.contains(&Some(Ordering::Less)) && !orders.contains(&Some(Ordering::Greater))
    }

    /// Which of the two is earlier; `None` if the difference is not significant.
    fn order(&self, first: &Candidate<'_>, second: &Candidate<'_>, number: Number) -> Option<Ordering> {
        let difference = self.interval(first, second, number)?;
        match (difference.low.as_nanos(), difference.high.as_nanos()) {
            (_, high) if high < 0 => Some(Ordering::Less),
            (low, _) if low > 0 => Some(Ordering::Greater),
            _ => None,
        }
    }

    /// By how much `candidate` is later than `base`, compared within each round, so that drift affects both alike.
    #[allow(clippy::cast_possible_truncation, reason = "a difference of two latencies")]
    fn interval(&self, candidate: &Candidate<'_>, base: &Candidate<'_>, number: Number) -> Option<Interval> {
        let (low, high) =
            SignedRank::from_differences(&differences(candidate, base, number)).interval(self.level)?;
        Some(Interval { low: Latency::from_nanos(low as i64), high: Latency::from_nanos(high as i64) })
    }
}

/// The difference in each round in which both have the number.
fn differences(candidate: &Candidate<'_>, base: &Candidate<'_>, number: Number) -> Vec<f64> {
    let pair = |turn: &TurnNumber| {
        let base_turn = base.turns.iter().find(|other| other.round == turn.round)?;
        Some((number(turn)?.as_nanos() - number(base_turn)?.as_nanos()) as f64)
    };
    candidate.turns.iter().filter_map(pair).collect()
}

/// Cost of a longer gap for a mechanism: the receiver's CPU falls idle, or loses its caches.
#[derive(Clone, Debug)]
pub struct GapCost {
    /// The condition with the shorter gap.
    pub condition: Condition,
    /// The gaps compared.
    pub gaps: [Span; 2],
    /// The medians at both.
    pub medians: [Latency; 2],
}

/// The cost of the longest gap against the shortest, for every mechanism under all circumstances.
pub fn gap_costs(analysis: &Analysis) -> Vec<GapCost> {
    let sweeps = grouped(notifications(analysis).map(|outcome| (without_gap(outcome), outcome)));
    sweeps.iter().filter_map(|sweep| gap_cost(sweep)).collect()
}

/// The condition without its gap.
fn without_gap(outcome: &Outcome) -> Condition {
    let mut condition = outcome.condition.clone();
    if let Work::Notify { after_ns, .. } = &mut condition.work {
        *after_ns = Span::ZERO;
    }
    condition
}

fn gap_cost(sweep: &[&Outcome]) -> Option<GapCost> {
    let gap = |outcome: &&&Outcome| outcome.condition.work.length();
    let (short, long) = (sweep.iter().min_by_key(gap)?, sweep.iter().max_by_key(gap)?);
    let median = |outcome: &Outcome| outcome.latency().quantile(0.5);
    (gap(&short) < gap(&long)).then_some(GapCost {
        condition: short.condition.clone(),
        gaps: [gap(&short), gap(&long)],
        medians: [median(short)?, median(long)?],
    })
}

/// Cost of idle states of the receiver's CPU for a mechanism: the CPU left as it was, and kept awake.
#[derive(Clone, Debug)]
pub struct IdleCost {
    /// The condition in which the CPU was left as it was.
    pub condition: Condition,
    /// The median as left.
    pub as_left: Latency,
    /// The median when the CPU was kept from idling.
    pub held_awake: Latency,
}

/// The cost of idle states, for every condition that was measured both ways. Under a load the CPU does not idle by itself, so that
/// such conditions say nothing of it.
pub fn idle_costs(analysis: &Analysis) -> Vec<IdleCost> {
    let mut by_condition: HashMap<&Condition, &Outcome> = HashMap::new();
    for outcome in analysis.outcomes() {
        by_condition.entry(&outcome.condition).or_insert(outcome);
    }
    let median = |outcome: &Outcome| outcome.latency().quantile(0.5);
    let cost = |as_left_outcome: &Outcome| {
        if !as_left_outcome.condition.load.is_idle() {
            return None;
        }
        let awake_condition = keep_awake(&as_left_outcome.condition)?;
        let awake = by_condition.get(&awake_condition)?;
        let (as_left, held_awake) = (median(as_left_outcome)?, median(awake)?);
        Some(IdleCost { condition: as_left_outcome.condition.clone(), as_left, held_awake })
    };
    notifications(analysis).filter_map(cost).collect()
}

/// The condition with the receiver's CPU kept awake, if it is not already.
fn keep_awake(condition: &Condition) -> Option<Condition> {
    let mut condition = condition.clone();
    match &mut condition.work {
        Work::Notify { receiver: receiver @ ReceiverCpu::AsLeft, .. } => *receiver = ReceiverCpu::HeldAwake,
        _ => return None,
    }
    Some(condition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Block, Line, Load, MonotonicTime, Peers, TurnFinished, Usage};

    fn notify(mechanism: Notifier, gap: u64) -> Work {
        Work::Notify {
            mechanism,
            after_ns: Span::from_micros(gap),
            between: Peers::Processes,
            sender_cpu: Some(0),
            placement: None,
            receiver: ReceiverCpu::AsLeft,
            round_trip: false,
        }
    }

    /// Twelve rounds of turns; all wake-ups of a mechanism have one latency, but 5 of a hundred have the other.
    fn measure(mechanisms: &[(Notifier, i64, i64)]) -> Ranking {
        let works: Vec<Work> = mechanisms.iter().map(|mechanism| notify(mechanism.0, 10)).collect();
        let mut analysis = analysis_of(&works);
        for round in 0..12 {
            // All drift together, by far more than they differ.
            let drift = i64::from(round) * 3_000;
            for (&(_, level, late), condition) in mechanisms.iter().zip(0..) {
                // Noise goes both ways equally often, whichever two are compared.
                let noise = i64::from((round + 5 * condition) * 7 % 12) * 10;
                let mut block = Block { condition, round, ..Block::default() };
                let latency = |nanos: i64| Latency::from_nanos(nanos + noise + drift);
                block.latency.record_n(latency(level), 95);
                block.latency.record_n(latency(late), 5);
                analysis.add(&Line::Block(Box::new(block)));
            }
        }
        rankings(&analysis).remove(0)
    }

    #[test]
    fn what_differs_in_every_round_is_told_apart_and_noise_is_not() {
        let found = measure(&[
            (Notifier::BusyWait, 200, 300),
            (Notifier::Futex, 5_000, 6_000),
            (Notifier::Eventfd, 5_000, 6_000),
            (Notifier::Tcp, 11_000, 12_000),
        ]);
        let distinguishable: Vec<_> = found
            .places
            .iter()
            .map(|mechanism| (mechanism.mechanism, mechanism.is_distinguishable()))
            .collect();
        assert_eq!(distinguishable[0], (Notifier::BusyWait, true));
        let mut best = found.best.clone();
        best.sort_by_key(|notifier| notifier.name());
        assert_eq!(best, [Notifier::Eventfd, Notifier::Futex]);
        assert_eq!(distinguishable.iter().filter(|row| row.1).count(), 2, "{distinguishable:?}");
        let tcp = found.places.last().unwrap().slower_ns.unwrap();
        assert!((5_800..=6_200).contains(&tcp.low.as_nanos()), "{tcp:?}");
        assert!(found.has_enough_rounds());
    }

    #[test]
    fn a_low_median_with_a_high_p99_is_not_the_best() {
        let found = measure(&[(Notifier::Futex, 5_000, 900_000), (Notifier::Pipe, 6_000, 7_000)]);
        assert_eq!(found.best.len(), 2, "{found:?}");
        let other = found.places[1];
        // Earlier than the one at the one number, and later at the other.
        let (median, p99) = (other.slower_ns.unwrap(), other.slower_p99_ns.unwrap());
        assert!(median.low.as_nanos().signum() == -p99.low.as_nanos().signum(), "{other:?}");
        let found = measure(&[(Notifier::Futex, 5_000, 900_000), (Notifier::Pipe, 5_000, 7_000)]);
        assert_eq!(found.best, [Notifier::Pipe], "{found:?}");
    }

    #[test]
    fn the_more_there_are_the_more_rounds_it_takes() {
        let rounds_needed = |count: usize| {
            let all: Vec<_> =
                Notifier::ALL.iter().take(count).map(|notifier| (*notifier, 5_000, 6_000)).collect();
            measure(&all).rounds_needed
        };
        assert_eq!((rounds_needed(2), rounds_needed(5), rounds_needed(18)), (7, 10, 14));
    }

    #[test]
    fn the_longest_gap_is_compared_with_the_shortest() {
        let mut analysis = analysis_of(&[10_000, 1, 100].map(|gap| notify(Notifier::Pipe, gap)));
        for (condition, late) in [(0, 30_000), (1, 4_000), (2, 9_000)] {
            analysis.add(&block_of(condition, 0, late));
        }
        let costs = gap_costs(&analysis);
        assert_eq!(costs.len(), 1);
        assert_eq!(costs[0].gaps, [Span::from_micros(1), Span::from_millis(10)]);
        assert!(costs[0].medians[0] < costs[0].medians[1]);
    }

    #[test]
    fn an_idle_cpu_is_compared_with_the_same_one_awake() {
        let mut awake = notify(Notifier::Pipe, 100);
        if let Work::Notify { receiver, .. } = &mut awake {
            *receiver = ReceiverCpu::HeldAwake;
        }
        let mut analysis = analysis_of(&[notify(Notifier::Pipe, 100), awake, notify(Notifier::Pipe, 1)]);
        for (condition, late) in [(0, 30_000), (1, 4_000), (2, 9_000)] {
            analysis.add(&block_of(condition, 0, late));
        }
        let costs = idle_costs(&analysis);
        assert_eq!(costs.len(), 1);
        assert!(costs[0].as_left > costs[0].held_awake);
        for outcome in &mut analysis.header.conditions {
            outcome.load = Load::cpu();
        }
        let mut loaded = Analysis::new(analysis.header.clone());
        for (condition, late) in [(0, 30_000), (1, 4_000), (2, 9_000)] {
            loaded.add(&block_of(condition, 0, late));
        }
        assert!(idle_costs(&loaded).is_empty(), "a CPU under load does not idle by itself");
    }

    #[test]
    fn receivers_that_did_not_sleep_are_counted_apart() {
        let slept = |mechanism: Notifier, switches: u64| {
            let mut analysis = analysis_of(&[notify(mechanism, 1)]);
            (0..10).for_each(|_| analysis.add(&block_of(0, 0, 700)));
            let usage =
                Usage { voluntary_switches: switches, elapsed: Span::from_secs(1), ..Usage::default() };
            let at = MonotonicTime::default();
            let (load, error) = (None, None);
            analysis.add(&Line::Finished(TurnFinished {
                condition: 0,
                round: 0,
                at,
                usage: Some(usage),
                unfinished: false,
                load,
                error,
            }));
            let outcome = &analysis.outcomes()[0];
            let has_caveat = outcome
                .caveats()
                .iter()
                .any(|caveat| matches!(caveat, howlate_model::Caveat::FoundAwake { .. }));
            (outcome.found_awake(), outcome.count(), has_caveat)
        };
        let (awake, of, has_caveat) = slept(Notifier::Futex, 8);
        assert_eq!((awake, has_caveat), (Some(of - 8), true));
        let (awake, of, has_caveat) = slept(Notifier::Futex, 10_000);
        assert!(of > 0);
        assert_eq!((awake, has_caveat), (Some(0), false));
        assert_eq!(slept(Notifier::BusyWait, 0).0, None);
    }
}
