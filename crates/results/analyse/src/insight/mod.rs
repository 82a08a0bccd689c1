//! Explanations of sleeps and periodic wake-ups: punctuality of a loop, real-time priority, timer slack, tick, idle states.
//!
//! A cause is stated if another condition of the same recording is its control: equal but for the cause. Without a control
//! the numbers are only consistent with it. Conditions under a load explain nothing, because the load affects their numbers
//! too.

mod lateness_step;
mod priority;
mod punctuality;
mod slack;
mod tick;

use howlate_model::{Latency, LoadKind, Work};
use schemars::JsonSchema;
use serde::Serialize;

use crate::across_cpus::group_by_loop;
use crate::steps::is_swept;
use crate::{Analysis, Outcome, grouped};
pub use lateness_step::{AwakeControl, LatenessStep, StepOrigin};
pub use priority::PriorityEffect;
pub use punctuality::{Punctuality, punctuality_of};
pub use slack::{CallSlack, TimerSlack};
pub use tick::Tick;

/// An explanation that the numbers bear out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Insight {
    /// How late the turns of a loop begin.
    Turns(Punctuality),
    /// Real-time priority makes them begin earlier.
    Priority(PriorityEffect),
    /// Wake-ups are as late as the thread's timer slack allows.
    TimerSlack(TimerSlack),
    /// Timeouts are as late as the slack that their call adds by itself.
    CallSlack(CallSlack),
    /// Short sleeps end on ticks.
    Tick(Tick),
    /// From some length on, sleeps return clearly later.
    Step(LatenessStep),
}

/// What another condition shows that differs in nothing but the supposed cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Control {
    /// Its index in the recording's header.
    pub condition: u32,
    /// Its median latency.
    #[serde(rename = "median_ns")]
    pub median: Latency,
}

/// Explanations of the sleeps and periodic wake-ups of a recording.
pub fn insights(analysis: &Analysis) -> Vec<Insight> {
    let all: Vec<Indexed<'_>> = analysis.indexed().filter(|(_, outcome)| is_explained(outcome)).collect();
    let idle: Vec<Indexed<'_>> =
        all.iter().copied().filter(|(_, outcome)| outcome.condition.load.is_idle()).collect();
    let mut found = Vec::new();
    found.extend(punctuality::find(&all).into_iter().map(Insight::Turns));
    found.extend(priority::find(&all).map(Insight::Priority));
    found.extend(tick::find(&idle, &analysis.header).map(Insight::Tick));
    found.extend(slack::find(&idle).into_iter().map(Insight::TimerSlack));
    found.extend(slack::find_call_slack(&idle).into_iter().map(Insight::CallSlack));
    let awake: Vec<Indexed<'_>> = all.iter().copied().filter(|(_, outcome)| is_awake(outcome)).collect();
    // A sweep with its own controls explains steps better.
    if !is_swept(analysis) {
        let steps = lateness_step::find(&idle, &awake, &analysis.header.system);
        found.extend(steps.into_iter().map(Insight::Step));
    }
    found
}

/// A condition with its index in the recording's header.
pub(crate) type Indexed<'a> = (u32, &'a Outcome);

/// Groups conditions by machine: only those of one machine are compared, and a fleet has too many to compare all.
fn by_node<'a>(all: &[Indexed<'a>]) -> Vec<Vec<Indexed<'a>>> {
    grouped(all.iter().map(|indexed| (&indexed.1.condition.node, *indexed)))
}

/// The threads of each loop, grouped by machine.
fn loops<'a>(all: &[Indexed<'a>]) -> Vec<Vec<Indexed<'a>>> {
    let of_node = |node: &Vec<Indexed<'a>>| group_by_loop(node.iter().copied(), |indexed| indexed.1);
    by_node(all).iter().flat_map(of_node).collect()
}

/// Whether insights apply; notifications have a ranking of their own.
fn is_explained(outcome: &Outcome) -> bool {
    matches!(outcome.condition.work, Work::Sleep { .. } | Work::Cyclic { .. })
}

/// Whether the only load beside it keeps the CPUs awake.
fn is_awake(outcome: &Outcome) -> bool {
    matches!(outcome.condition.load.parts(), [part] if part.kind == LoadKind::Awake)
}

/// The median, if there are enough wake-ups.
fn median(outcome: &Outcome) -> Option<Latency> {
    const LEAST: u64 = 20;
    outcome.latency().quantile(0.5).filter(|_| outcome.count() >= LEAST)
}

#[cfg(test)]
pub(crate) mod tests {
    use howlate_model::{
        Block, EffectiveSettings, Line, MonotonicTime, Policy, Span, TurnStarted, Wait, Wakeup, Work,
    };

    use super::*;
    use crate::testing::analysis_of;

    pub(crate) fn work(wait: Wait, length: Span) -> Work {
        Work::Sleep { mechanism: howlate_model::Sleeper::Wait(wait), target_ns: length }
    }

    fn outcome(work: Work, slack: Option<u64>, late: i64) -> Outcome {
        let mut analysis = analysis_of(&[work]);
        let in_force = EffectiveSettings {
            tid: 1,
            policy: Policy::OTHER,
            slack: Span::from_nanos(slack.unwrap_or(50_000)),
            cpus: [1].into_iter().collect(),
            memory_locked: true,
            dma_latency_us: None,
            slice: None,
        };
        let started = TurnStarted {
            condition: 0,
            round: 0,
            at: MonotonicTime::default(),
            in_force,
            sender_in_force: None,
            runtime: None,
            warm_up: None,
            caveats: vec![],
        };
        analysis.add(&Line::Started(started));
        let mut block = Block::default();
        let at = MonotonicTime::from_nanos;
        (0..50).for_each(|_| block.record(Wakeup { expected: at(0), ran: at(late) }, None));
        analysis.add(&Line::Block(Box::new(block)));
        let mut outcome = analysis.outcomes()[0].clone();
        outcome.condition.slack_ns = slack.map(Span::from_nanos);
        outcome
    }

    /// Sleeps of 100 ms, all equally late, with 50 µs of timer slack or the requested one.
    pub(crate) fn sleeps(wait: Wait, slack: Option<u64>, late: i64) -> Outcome {
        outcome(work(wait, Span::from_millis(100)), slack, late)
    }

    /// Sleeps by `clock_nanosleep` without slack, all equally late.
    pub(crate) fn of_length(length: u64, late: i64) -> Outcome {
        outcome(work(Wait::ClockNanosleep, Span::from_nanos(length)), Some(1), late)
    }

    pub(crate) fn idle(outcomes: &[Outcome]) -> Vec<Indexed<'_>> {
        (0..).zip(outcomes).collect()
    }

    #[test]
    fn conditions_under_a_load_explain_nothing() {
        let mut analysis = analysis_of(&[work(Wait::ClockNanosleep, Span::from_millis(1))]);
        analysis.header.conditions[0].load = howlate_model::Load::cpu();
        let mut loaded = Analysis::new(analysis.header);
        let mut block = Block::default();
        let at = MonotonicTime::from_nanos;
        (0..50).for_each(|_| block.record(Wakeup { expected: at(0), ran: at(70_000) }, None));
        loaded.add(&Line::Block(Box::new(block)));
        assert_eq!(insights(&loaded), []);
    }
}
