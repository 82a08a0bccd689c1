//! Which way to notify is fastest, by how much, and which cannot be told apart.

use std::cmp::Ordering;
use std::collections::HashMap;

use howlate_model::{Condition, Latency, Notifier, ReceiverCpu, Span, Work};
use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::{SignedRank, least_pairs};
use crate::{Analysis, Interval, Outcome, TurnNumber, grouped};

/// How sure everything is that a ranking says, all of it together.
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
    /// Whether there were enough rounds to tell anything apart.
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
    /// Whether the difference to the fastest is certain to be one, at the median or at p99.
    pub fn is_told_apart(&self) -> bool {
        let apart = |by: Interval| by.low.as_nanos() > 0 || by.high.as_nanos() < 0;
        self.slower_ns.is_some_and(apart) || self.slower_p99_ns.is_some_and(apart)
    }
}

/// What was notified under the policy asked for; what ran as something else is not compared.
fn notifications(analysis: &Analysis) -> impl Iterator<Item = &Outcome> {
    let counts = |one: &&Outcome| one.condition.work.notifier().is_some() && one.ran_as().is_none();
    analysis.outcomes().iter().filter(counts)
}

/// One ranking for each set of circumstances under which several mechanisms were measured.
pub fn rankings(analysis: &Analysis) -> Vec<Ranking> {
    let groups = grouped(notifications(analysis).map(|outcome| (circumstances(outcome), outcome)));
    groups.iter().filter_map(|group| Contest::from_outcome(group)?.ranking()).collect()
}

/// The condition, its mechanism left out.
fn circumstances(outcome: &Outcome) -> Condition {
    let mut condition = outcome.condition.clone();
    if let Work::Notify { mechanism, .. } = &mut condition.work {
        *mechanism = Notifier::Futex;
    }
    condition
}

/// One that takes part in a ranking.
struct Rival<'a> {
    outcome: &'a Outcome,
    mechanism: Notifier,
    p50: Latency,
    turns: Vec<TurnNumber>,
}

impl<'a> Rival<'a> {
    fn from_outcome(outcome: &'a Outcome) -> Option<Self> {
        let (mechanism, p50) = (outcome.condition.work.notifier()?, outcome.latency().quantile(0.5)?);
        Some(Self { outcome, mechanism, p50, turns: outcome.turns() })
    }
}

/// What mechanisms are compared by.
type Number = fn(&TurnNumber) -> Option<Latency>;

const MEDIAN: Number = |turn| turn.p50;
const P99: Number = |turn| turn.p99;

/// All that are ranked, in order of their medians, and the level of each of their comparisons.
struct Contest<'a> {
    rivals: Vec<Rival<'a>>,
    level: f64,
}

impl<'a> Contest<'a> {
    /// `None` when there is nothing to compare.
    fn from_outcome(group: &[&'a Outcome]) -> Option<Self> {
        let mut rivals: Vec<Rival<'a>> = group.iter().filter_map(|one| Rival::from_outcome(one)).collect();
        rivals.sort_by_key(|one| one.p50);
        let pairs = rivals.len() * rivals.len().saturating_sub(1) / 2;
        // Every pair, by its median and by its p99: whichever two look best were chosen among all.
        (pairs > 0).then_some(Self { rivals, level: ALPHA / (2 * pairs) as f64 })
    }

    fn ranking(&self) -> Option<Ranking> {
        let fastest = self.contenders().next()?;
        let place = |rival: &Rival<'_>| {
            let other = !std::ptr::eq(rival.outcome, fastest.outcome);
            let slower = |of: Number| if other { self.interval(rival, fastest, of) } else { None };
            let p99 = rival.outcome.latency().quantile(0.99);
            RankedMechanism {
                mechanism: rival.mechanism,
                p50: rival.p50,
                p99: p99.filter(|_| rival.outcome.count() >= 100),
                burns_cpu: rival.mechanism.burns_cpu(),
                slower_ns: slower(MEDIAN),
                slower_p99_ns: slower(P99),
            }
        };
        let unbeaten = |one: &&Rival<'_>| !self.contenders().any(|other| self.beats(other, one));
        Some(Ranking {
            fastest: fastest.outcome.condition.clone(),
            places: self.rivals.iter().map(place).collect(),
            best: self.contenders().filter(unbeaten).map(|one| one.mechanism).collect(),
            rounds: self.rivals.iter().map(|one| one.turns.len()).min().unwrap_or(0),
            rounds_needed: least_pairs(self.level),
        })
    }

    /// Those that leave the CPU to others; all of them where none does.
    fn contenders(&self) -> impl Iterator<Item = &Rival<'a>> {
        let all_burn = self.rivals.iter().all(|one| one.mechanism.burns_cpu());
        self.rivals.iter().filter(move |one| all_burn || !one.mechanism.burns_cpu())
    }

    fn beats(&self, one: &Rival<'_>, other: &Rival<'_>) -> bool {
        let orders = [MEDIAN, P99].map(|of| self.order(one, other, of));
        orders.contains(&Some(Ordering::Less)) && !orders.contains(&Some(Ordering::Greater))
    }

    /// Which of the two is earlier; `None` where that cannot be told.
    fn order(&self, one: &Rival<'_>, other: &Rival<'_>, of: Number) -> Option<Ordering> {
        let by = self.interval(one, other, of)?;
        match (by.low.as_nanos(), by.high.as_nanos()) {
            (_, high) if high < 0 => Some(Ordering::Less),
            (low, _) if low > 0 => Some(Ordering::Greater),
            _ => None,
        }
    }

    /// By how much one is later than another, round by round, so that what slows both hits neither.
    #[allow(clippy::cast_possible_truncation, reason = "a difference of two latencies")]
    fn interval(&self, one: &Rival<'_>, than: &Rival<'_>, of: Number) -> Option<Interval> {
        let (low, high) = SignedRank::from_differences(&differences(one, than, of)).interval(self.level)?;
        Some(Interval { low: Latency::from_nanos(low as i64), high: Latency::from_nanos(high as i64) })
    }
}

/// The difference of each round in which both have the number.
fn differences(one: &Rival<'_>, than: &Rival<'_>, of: Number) -> Vec<f64> {
    let pair = |turn: &TurnNumber| {
        let base = than.turns.iter().find(|other| other.round == turn.round)?;
        Some((of(turn)?.as_nanos() - of(base)?.as_nanos()) as f64)
    };
    one.turns.iter().filter_map(pair).collect()
}

/// What a longer gap costs a mechanism: its receiver's CPU falls idle, or loses its caches.
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
    let sweeps = grouped(notifications(analysis).map(|outcome| (gapless(outcome), outcome)));
    sweeps.iter().filter_map(|sweep| gap_cost(sweep)).collect()
}

/// The condition, its gap left out.
fn gapless(outcome: &Outcome) -> Condition {
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

/// What an idle receiver's CPU adds to a mechanism: the same as left, and held awake.
#[derive(Clone, Debug)]
pub struct IdleCost {
    /// The condition in which the CPU was left as it was.
    pub condition: Condition,
    /// The median as left.
    pub as_left: Latency,
    /// The median when the CPU was kept from idling.
    pub held_awake: Latency,
}

/// The cost of the idle CPU, for every condition that was measured both ways. Under a load the CPU does not idle by
/// itself, so that such a condition tells nothing of it.
pub fn idle_costs(analysis: &Analysis) -> Vec<IdleCost> {
    let mut places: HashMap<&Condition, &Outcome> = HashMap::new();
    for outcome in analysis.outcomes() {
        places.entry(&outcome.condition).or_insert(outcome);
    }
    let median = |outcome: &Outcome| outcome.latency().quantile(0.5);
    let cost = |left: &Outcome| {
        if !left.condition.load.is_idle() {
            return None;
        }
        let wanted = held_awake(&left.condition)?;
        let awake = places.get(&wanted)?;
        let (as_left, held_awake) = (median(left)?, median(awake)?);
        Some(IdleCost { condition: left.condition.clone(), as_left, held_awake })
    };
    notifications(analysis).filter_map(cost).collect()
}

/// The same condition with the receiver's CPU held awake, if it is not already.
fn held_awake(condition: &Condition) -> Option<Condition> {
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

    /// Ten rounds of turns; each mechanism's wake-ups, all of one size but for `late` of a hundred.
    fn measured(rivals: &[(Notifier, i64, i64)]) -> Ranking {
        let works: Vec<Work> = rivals.iter().map(|rival| notify(rival.0, 10)).collect();
        let mut analysis = analysis_of(&works);
        for round in 0..12 {
            // All drift together, by far more than they differ.
            let drift = i64::from(round) * 3_000;
            for (&(_, level, late), condition) in rivals.iter().zip(0..) {
                // As often one way as the other, whichever two are compared.
                let noise = i64::from((round + 5 * condition) * 7 % 12) * 10;
                let mut block = Block { condition, round, ..Block::default() };
                let one = |latency: i64| Latency::from_nanos(latency + noise + drift);
                block.latency.record_n(one(level), 95);
                block.latency.record_n(one(late), 5);
                analysis.add(&Line::Block(Box::new(block)));
            }
        }
        rankings(&analysis).remove(0)
    }

    #[test]
    fn what_differs_in_every_round_is_told_apart_and_noise_is_not() {
        let found = measured(&[
            (Notifier::BusyWait, 200, 300),
            (Notifier::Futex, 5_000, 6_000),
            (Notifier::Eventfd, 5_000, 6_000),
            (Notifier::Tcp, 11_000, 12_000),
        ]);
        let told: Vec<_> = found.places.iter().map(|one| (one.mechanism, one.is_told_apart())).collect();
        assert_eq!(told[0], (Notifier::BusyWait, true));
        let mut best = found.best.clone();
        best.sort_by_key(|one| one.name());
        assert_eq!(best, [Notifier::Eventfd, Notifier::Futex]);
        assert_eq!(told.iter().filter(|one| one.1).count(), 2, "{told:?}");
        let tcp = found.places.last().unwrap().slower_ns.unwrap();
        assert!((5_800..=6_200).contains(&tcp.low.as_nanos()), "{tcp:?}");
        assert!(found.has_enough_rounds());
    }

    #[test]
    fn a_low_median_with_a_high_p99_is_not_the_best() {
        let found = measured(&[(Notifier::Futex, 5_000, 900_000), (Notifier::Pipe, 6_000, 7_000)]);
        assert_eq!(found.best.len(), 2, "{found:?}");
        let other = found.places[1];
        // Earlier than the one at the one number, and later at the other.
        let (median, p99) = (other.slower_ns.unwrap(), other.slower_p99_ns.unwrap());
        assert!(median.low.as_nanos().signum() == -p99.low.as_nanos().signum(), "{other:?}");
        let found = measured(&[(Notifier::Futex, 5_000, 900_000), (Notifier::Pipe, 5_000, 7_000)]);
        assert_eq!(found.best, [Notifier::Pipe], "{found:?}");
    }

    #[test]
    fn the_more_there_are_the_more_rounds_it_takes() {
        let of = |rivals: usize| {
            let all: Vec<_> = Notifier::ALL.iter().take(rivals).map(|one| (*one, 5_000, 6_000)).collect();
            measured(&all).rounds_needed
        };
        assert_eq!((of(2), of(5), of(18)), (7, 10, 14));
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
            let told =
                outcome.caveats().iter().any(|one| matches!(one, howlate_model::Caveat::FoundAwake { .. }));
            (outcome.found_awake(), outcome.count(), told)
        };
        let (awake, of, told) = slept(Notifier::Futex, 8);
        assert_eq!((awake, told), (Some(of - 8), true));
        let (awake, of, told) = slept(Notifier::Futex, 10_000);
        assert!(of > 0);
        assert_eq!((awake, told), (Some(0), false));
        assert_eq!(slept(Notifier::BusyWait, 0).0, None);
    }
}
