//! Which way to notify is fastest, and by how much.

use howlate_model::{Condition, Latency, Notifier, ReceiverCpu, Span, Work};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Analysis, Interval, Outcome};

/// The ways to notify under the same circumstances, fastest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ranking {
    /// The circumstances, with the mechanism that all are compared with: the fastest that
    /// does not burn a CPU, or the fastest of all when every one does.
    pub fastest: Condition,
    /// All of them.
    pub places: Vec<Place>,
}

/// One way to notify within a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// Which.
    pub mechanism: Notifier,
    /// Its median latency.
    pub p50_ns: Latency,
    /// Whether the receiver keeps its CPU busy while it waits.
    pub burns_cpu: bool,
    /// By how much it is slower than the fastest: 95 % interval of the median difference of
    /// turns of the same round. Absent for the fastest itself, and with fewer than 6 rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower_ns: Option<Interval>,
}

impl Place {
    /// Whether the difference to the fastest is certain to be one.
    pub fn is_told_apart(&self) -> bool {
        self.slower_ns.is_some_and(|by| by.low.as_nanos() > 0 || by.high.as_nanos() < 0)
    }
}

/// What was notified under the policy asked for; what ran as something else is not compared.
fn notifications(analysis: &Analysis) -> impl Iterator<Item = &Outcome> {
    let counts = |one: &&Outcome| one.condition.work.notifier().is_some() && one.ran_as().is_none();
    analysis.outcomes().iter().filter(counts)
}

/// One ranking for each set of circumstances under which several mechanisms were measured.
pub fn rankings(analysis: &Analysis) -> Vec<Ranking> {
    let mut groups: Vec<Vec<&Outcome>> = Vec::new();
    for outcome in notifications(analysis) {
        let alike = |group: &&mut Vec<&Outcome>| circumstances(group[0]) == circumstances(outcome);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(outcome),
            None => groups.push(vec![outcome]),
        }
    }
    groups.iter().filter_map(|group| ranking(group)).collect()
}

/// The condition, its mechanism left out.
fn circumstances(outcome: &Outcome) -> Condition {
    let mut condition = outcome.condition.clone();
    if let Work::Notify { mechanism, .. } = &mut condition.work {
        *mechanism = Notifier::Futex;
    }
    condition
}

fn ranking(group: &[&Outcome]) -> Option<Ranking> {
    let median = |outcome: &&Outcome| outcome.latency().quantile(0.5);
    let mut ranked: Vec<&Outcome> = group.iter().copied().filter(|one| median(one).is_some()).collect();
    ranked.sort_by_key(median);
    let fastest =
        *ranked.iter().find(|one| !burns(one)).or_else(|| ranked.first()).filter(|_| ranked.len() > 1)?;
    let place = |outcome: &&Outcome| {
        let same = std::ptr::eq(*outcome, fastest);
        Some(Place {
            mechanism: outcome.condition.work.notifier()?,
            p50_ns: median(outcome)?,
            burns_cpu: burns(outcome),
            slower_ns: if same { None } else { slower(outcome, fastest) },
        })
    };
    Some(Ranking { fastest: fastest.condition.clone(), places: ranked.iter().filter_map(place).collect() })
}

fn burns(outcome: &Outcome) -> bool {
    outcome.condition.work.notifier().is_some_and(Notifier::burns_cpu)
}

/// The difference of medians, round by round, so that what slows both hits neither.
fn slower(one: &Outcome, than: &Outcome) -> Option<Interval> {
    let other = than.round_medians();
    let pair = |(round, median): &(u32, Latency)| {
        let (_, base) = other.iter().find(|(number, _)| number == round)?;
        Some(Latency::from_nanos(median.as_nanos() - base.as_nanos()))
    };
    Interval::of_median(&mut one.round_medians().iter().filter_map(pair).collect::<Vec<_>>())
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
    let mut sweeps: Vec<Vec<&Outcome>> = Vec::new();
    for outcome in notifications(analysis) {
        match sweeps.iter_mut().find(|sweep| gapless(sweep[0]) == gapless(outcome)) {
            Some(sweep) => sweep.push(outcome),
            None => sweeps.push(vec![outcome]),
        }
    }
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

/// The cost of the idle CPU, for every condition that was measured both ways.
pub fn idle_costs(analysis: &Analysis) -> Vec<IdleCost> {
    let outcomes = analysis.outcomes();
    let median = |outcome: &Outcome| outcome.latency().quantile(0.5);
    let cost = |left: &Outcome| {
        let wanted = held_awake(&left.condition)?;
        let awake = outcomes.iter().find(|other| other.condition == wanted)?;
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
    use howlate_model::Between;

    fn notify(mechanism: Notifier, gap: u64) -> Work {
        Work::Notify {
            mechanism,
            after_ns: Span::from_micros(gap),
            between: Between::Processes,
            sender_cpu: Some(0),
            placement: None,
            receiver: ReceiverCpu::AsLeft,
            round_trip: false,
        }
    }

    #[test]
    fn what_differs_in_every_round_is_told_apart_and_noise_is_not() {
        let works = [Notifier::BusyWait, Notifier::Futex, Notifier::Eventfd, Notifier::Tcp];
        let mut analysis = analysis_of(&works.map(|mechanism| notify(mechanism, 10)));
        for round in 0..10 {
            // All drift together, by far more than they differ.
            let drift = i64::from(round) * 3_000;
            let noise = if round % 2 == 0 { 40 } else { -60 };
            for (condition, late) in [(0, 200), (1, 5_000), (2, 5_000 + noise), (3, 11_000 + noise)] {
                analysis.add(&block_of(condition, round, late + drift));
            }
        }
        let found = rankings(&analysis);
        assert_eq!(found.len(), 1);
        let told: Vec<_> = found[0].places.iter().map(|one| (one.mechanism, one.is_told_apart())).collect();
        assert_eq!(found[0].fastest.work.notifier(), Some(Notifier::Futex));
        assert_eq!(told[0], (Notifier::BusyWait, true));
        assert!(told.contains(&(Notifier::Eventfd, false)) && told.contains(&(Notifier::Tcp, true)));
        let tcp = found[0].places.last().unwrap().slower_ns.unwrap();
        assert!((5_900..=6_100).contains(&tcp.low.as_nanos()), "{tcp:?}");
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
    }
}
