//! A sweep: the medians of sleeps of many lengths, round by round, as they are and under its controls.

use std::collections::{BTreeMap, BTreeSet};

use howlate_model::{Condition, LoadKind, Mechanism, Policy, Span, Wait, WaitClock};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Analysis, Outcome};

/// Fewer lengths are no sweep.
const LEAST_LENGTHS: usize = 10;
/// Fewer rounds tell nothing apart from noise at 95 %.
pub(crate) const LEAST_ROUNDS: usize = 6;

/// The same sleeps without something that may make them late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepControl {
    /// The CPU kept from idling by a thread that gives way to all others.
    Awake,
    /// `/dev/cpu_dma_latency` held at 0: no idle state that takes time to leave.
    DmaLatency,
    /// A timer slack of 1 ns.
    Slack,
}

impl StepControl {
    /// Each, in the order in which they are told.
    pub const ALL: [Self; 3] = [Self::Awake, Self::DmaLatency, Self::Slack];

    /// What differs in a condition; `None`: something else does, or nothing.
    fn of(condition: &Condition) -> Option<Option<Self>> {
        let loads: Vec<_> = condition.load.parts().iter().map(|part| part.kind.clone()).collect();
        let is_awake = loads == [LoadKind::Awake];
        let is_held = condition.tuned.as_ref().is_some_and(|tuned| tuned.knobs == [Self::KNOB]);
        match (is_awake, is_held) {
            (false, false) if condition.load.is_idle() && condition.tuned.is_none() => Some(None),
            (true, false) if condition.tuned.is_none() => Some(Some(Self::Awake)),
            (false, true) if condition.load.is_idle() => Some(Some(Self::DmaLatency)),
            _ => None,
        }
    }

    /// The setting that is held, as `howlate tune` calls it.
    pub const KNOB: &str = "cpu_dma_latency";
    /// The slack of that control.
    pub const LEAST_SLACK: Span = Span::from_nanos(1);
}

/// Medians in nanoseconds: a row for each round, a column for each length.
pub(crate) type Medians = BTreeMap<u32, Vec<f64>>;

/// Sleeps of many lengths.
pub(crate) struct Sweep<'a> {
    /// The conditions as they are, by length.
    pub(crate) base: Vec<&'a Outcome>,
    pub(crate) medians: Medians,
    pub(crate) controls: BTreeMap<StepControl, Medians>,
}

impl Sweep<'_> {
    pub(crate) fn lengths(&self) -> Vec<Span> {
        self.base.iter().map(|one| one.condition.work.length()).collect()
    }
}

/// What sleeps of one sweep have in common.
type Family<'a> = (&'a Option<String>, Mechanism, Policy, WaitClock, Option<u32>, &'a str);

fn family(outcome: &Outcome) -> Family<'_> {
    let one = &outcome.condition;
    (&one.node, one.work.mechanism(), one.policy, one.clock, one.cpu, &one.kernel)
}

/// The sweeps of a recording.
pub(crate) fn sweeps(analysis: &Analysis) -> Vec<Sweep<'_>> {
    let asleep = analysis.outcomes().iter().filter(|one| is_timed(one));
    let mut families: Vec<Vec<&Outcome>> = Vec::new();
    for one in asleep {
        match families.iter_mut().find(|known| family(known[0]) == family(one)) {
            Some(known) => known.push(one),
            None => families.push(vec![one]),
        }
    }
    families.iter().filter_map(|family| sweep(family)).collect()
}

/// Whether nothing but a timer of the kernel decides when a sleep ends.
fn is_timed(outcome: &Outcome) -> bool {
    let work = outcome.condition.work;
    work.period().is_none() && work.wait().is_some_and(|wait| wait != Wait::BusyWait)
}

fn sweep<'a>(family: &[&'a Outcome]) -> Option<Sweep<'a>> {
    let of = |control: Option<StepControl>, slack: Option<Span>| -> Vec<&'a Outcome> {
        let is_it = |one: &&&Outcome| {
            StepControl::of(&one.condition) == Some(control) && one.condition.slack_ns == slack
        };
        by_length(family.iter().filter(is_it).copied())
    };
    let first = family.iter().find(|one| StepControl::of(&one.condition) == Some(None))?;
    let slack = first.condition.slack_ns;
    let base = of(None, slack);
    let medians = medians(&base)?;
    let lengths: Vec<Span> = base.iter().map(|one| one.condition.work.length()).collect();
    let control = |control| {
        let conditions = match control {
            StepControl::Slack if slack == Some(StepControl::LEAST_SLACK) => return None,
            StepControl::Slack => of(None, Some(StepControl::LEAST_SLACK)),
            other => of(Some(other), slack),
        };
        let is_same = conditions.iter().map(|one| one.condition.work.length()).eq(lengths.iter().copied());
        Some((control, self::medians(&conditions).filter(|_| is_same)?))
    };
    let controls = StepControl::ALL.into_iter().filter_map(control).collect();
    Some(Sweep { medians, controls, base })
}

fn by_length<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<&'a Outcome> {
    let mut all: Vec<&Outcome> = outcomes.collect();
    all.sort_by_key(|one| one.condition.work.length());
    all.dedup_by_key(|one| one.condition.work.length());
    all
}

/// Of the rounds that every length has; `None` where they are too few, or the lengths.
fn medians(outcomes: &[&Outcome]) -> Option<Medians> {
    let by_round = |one: &&Outcome| -> BTreeMap<u32, f64> {
        let turns = one.turns().into_iter();
        turns.filter_map(|turn| Some((turn.round, turn.p50?.as_nanos() as f64))).collect()
    };
    let all: Vec<BTreeMap<u32, f64>> = outcomes.iter().map(by_round).collect();
    let rounds: BTreeSet<u32> = all.first()?.keys().copied().collect();
    let row = |round: u32| -> Option<(u32, Vec<f64>)> {
        Some((round, all.iter().map(|one| one.get(&round).copied()).collect::<Option<_>>()?))
    };
    let medians: Medians = rounds.into_iter().filter_map(row).collect();
    (all.len() >= LEAST_LENGTHS && medians.len() >= LEAST_ROUNDS).then_some(medians)
}
