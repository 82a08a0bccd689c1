//! A sweep: the medians of sleeps of many lengths, round by round, as they are and under its controls.

use std::collections::{BTreeMap, BTreeSet};

use howlate_model::{Condition, LoadKind, Mechanism, Policy, Span, Wait, WaitClock};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Analysis, Outcome};

/// Fewer lengths are no sweep.
const LEAST_LENGTHS: usize = 10;
/// With fewer rounds nothing is significant at 95 %.
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
    /// All controls, in the order of the output.
    pub const ALL: [Self; 3] = [Self::Awake, Self::DmaLatency, Self::Slack];

    /// The control of a condition: `Some(None)` is the base, `None` something else.
    fn of_condition(condition: &Condition) -> Option<Option<Self>> {
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

    /// The setting of that control, as `howlate tune` calls it.
    pub const KNOB: &str = "cpu_dma_latency";
    /// The slack of that control.
    pub const LEAST_SLACK: Span = Span::from_nanos(1);
}

/// Medians in nanoseconds: a row for each round, a column for each length.
pub(crate) type Medians = BTreeMap<u32, Vec<f64>>;

/// Sleeps of many lengths.
pub(crate) struct Sweep<'a> {
    /// The conditions without a control, by length.
    pub(crate) base: Vec<&'a Outcome>,
    pub(crate) medians: Medians,
    pub(crate) controls: BTreeMap<StepControl, Medians>,
}

impl Sweep<'_> {
    pub(crate) fn lengths(&self) -> Vec<Span> {
        self.base.iter().map(|outcome| outcome.condition.work.length()).collect()
    }
}

/// What sleeps of one sweep have in common.
type SweepKey<'a> = (&'a Option<String>, Mechanism, Policy, WaitClock, Option<u32>, &'a str);

fn key_of(outcome: &Outcome) -> SweepKey<'_> {
    let condition = &outcome.condition;
    (
        &condition.node,
        condition.work.mechanism(),
        condition.policy,
        condition.clock,
        condition.cpu,
        &condition.kernel,
    )
}

/// The sweeps of a recording.
pub(crate) fn sweeps(analysis: &Analysis) -> Vec<Sweep<'_>> {
    let sleeps = analysis.outcomes().iter().filter(|outcome| is_timed(outcome));
    let mut families: Vec<Vec<&Outcome>> = Vec::new();
    for outcome in sleeps {
        match families.iter_mut().find(|members| key_of(members[0]) == key_of(outcome)) {
            Some(members) => members.push(outcome),
            None => families.push(vec![outcome]),
        }
    }
    families.iter().filter_map(|family| sweep(family)).collect()
}

/// Whether only a timer of the kernel decides when a sleep ends.
fn is_timed(outcome: &Outcome) -> bool {
    let work = outcome.condition.work;
    work.period().is_none() && work.wait().is_some_and(|wait| wait != Wait::BusyWait)
}

fn sweep<'a>(family: &[&'a Outcome]) -> Option<Sweep<'a>> {
    let select = |control: Option<StepControl>, slack: Option<Span>| -> Vec<&'a Outcome> {
        let is_selected = |outcome: &&&Outcome| {
            StepControl::of_condition(&outcome.condition) == Some(control)
                && outcome.condition.slack_ns == slack
        };
        by_length(family.iter().filter(is_selected).copied())
    };
    let first = family.iter().find(|outcome| StepControl::of_condition(&outcome.condition) == Some(None))?;
    let slack = first.condition.slack_ns;
    let base = select(None, slack);
    let medians = medians(&base)?;
    let lengths: Vec<Span> = base.iter().map(|outcome| outcome.condition.work.length()).collect();
    let control = |control| {
        let conditions = match control {
            StepControl::Slack if slack == Some(StepControl::LEAST_SLACK) => return None,
            StepControl::Slack => select(None, Some(StepControl::LEAST_SLACK)),
            other => select(Some(other), slack),
        };
        let is_same =
            conditions.iter().map(|outcome| outcome.condition.work.length()).eq(lengths.iter().copied());
        Some((control, self::medians(&conditions).filter(|_| is_same)?))
    };
    let controls = StepControl::ALL.into_iter().filter_map(control).collect();
    Some(Sweep { medians, controls, base })
}

fn by_length<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<&'a Outcome> {
    let mut all: Vec<&Outcome> = outcomes.collect();
    all.sort_by_key(|outcome| outcome.condition.work.length());
    all.dedup_by_key(|outcome| outcome.condition.work.length());
    all
}

/// The medians of the rounds that every length has; `None` with too few rounds or lengths.
fn medians(outcomes: &[&Outcome]) -> Option<Medians> {
    let by_round = |outcome: &&Outcome| -> BTreeMap<u32, f64> {
        let turns = outcome.turns().into_iter();
        turns.filter_map(|turn| Some((turn.round, turn.p50?.as_nanos() as f64))).collect()
    };
    let all: Vec<BTreeMap<u32, f64>> = outcomes.iter().map(by_round).collect();
    let rounds: BTreeSet<u32> = all.first()?.keys().copied().collect();
    let row = |round: u32| -> Option<(u32, Vec<f64>)> {
        Some((round, all.iter().map(|by_round| by_round.get(&round).copied()).collect::<Option<_>>()?))
    };
    let medians: Medians = rounds.into_iter().filter_map(row).collect();
    (all.len() >= LEAST_LENGTHS && medians.len() >= LEAST_ROUNDS).then_some(medians)
}
