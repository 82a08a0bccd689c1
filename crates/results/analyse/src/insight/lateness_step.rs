//! Lengths from which on sleeps return clearly later, and possible origins.

use howlate_model::{Distribution, Latency, Load, Mechanism, Policy, Span, System, TunedKnobs, Wait};
use schemars::JsonSchema;
use serde::Serialize;

use super::slack::slack_of_call;
use super::{Indexed, by_node};
use crate::Outcome;
use crate::lateness_steps;
use crate::steps::host_halt_poll;

/// From some length on, sleeps return clearly later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct LatenessStep {
    /// The conditions on both sides, by index in the recording's header.
    pub conditions: Vec<u32>,
    /// The longest length before the step.
    #[serde(rename = "below_ns")]
    pub below: Span,
    /// The shortest after it.
    #[serde(rename = "above_ns")]
    pub above: Span,
    /// Median latency before.
    #[serde(rename = "median_below_ns")]
    pub median_below: Latency,
    /// Median latency after.
    #[serde(rename = "median_above_ns")]
    pub median_above: Latency,
    /// The same two lengths with every CPU kept awake, which is the control for leaving the idle state.
    /// Absent: nobody measured that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awake: Option<AwakeControl>,
    /// What lies at that length on this machine.
    pub origins: Vec<StepOrigin>,
}

/// Sleeps of two lengths with every CPU kept awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Awake")]
pub struct AwakeControl {
    /// Median latency at the length before the step.
    #[serde(rename = "median_below_ns")]
    pub median_below: Latency,
    /// Median latency at the length after it.
    #[serde(rename = "median_above_ns")]
    pub median_above: Latency,
    /// Whether the step is gone: less than half of it is left.
    pub step_is_gone: bool,
}

/// What lies at the length of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Origin")]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepOrigin {
    /// An idle state becomes worth entering.
    IdleState {
        /// The idle state's name, as cpuidle gives it.
        name: String,
        /// Its target residency.
        #[serde(rename = "residency_ns")]
        residency: Span,
        /// Its exit latency, worst case.
        #[serde(rename = "exit_latency_ns")]
        exit_latency: Span,
    },
    /// KVM on the host stops polling for the guest and gives its CPU away.
    HaltPoll {
        /// The host's default polling time.
        #[serde(rename = "limit_ns")]
        limit: Span,
    },
}

/// Steps in each sweep over lengths that differ in nothing else.
pub(super) fn find(idle: &[Indexed<'_>], awake: &[Indexed<'_>], system: &System) -> Vec<LatenessStep> {
    let mut found: Vec<LatenessStep> = Vec::new();
    for sweep in by_node(idle).iter().flat_map(|node| sweeps(node)) {
        let lengths: Vec<(Span, &Distribution)> =
            sweep.iter().map(|(_, outcome)| (outcome.condition.work.length(), outcome.latency())).collect();
        for step in lateness_steps::between(&lengths) {
            let at = |length| sweep.iter().find(|(_, outcome)| outcome.condition.work.length() == length);
            let (Some(below), Some(above)) = (at(step.below), at(step.above)) else { continue };
            let conditions = vec![below.0, above.0];
            match found.iter_mut().find(|step_found| step_found.above == step.above) {
                Some(step_found) => step_found.conditions.extend(conditions),
                None => found.push(explain(step, conditions, [below.1, above.1], awake, system)),
            }
        }
    }
    found
}

fn explain(
    step: lateness_steps::SweepStep,
    conditions: Vec<u32>,
    sides: [&Outcome; 2],
    awake: &[Indexed<'_>],
    system: &System,
) -> LatenessStep {
    let origins = origins(step, system);
    let lateness_steps::SweepStep { below, above, median_below, median_above } = step;
    let rise = median_above.as_nanos() - median_below.as_nanos();
    let awake = awake_control(sides, awake, rise);
    LatenessStep { conditions, below, above, median_below, median_above, awake, origins }
}

/// Medians of both conditions under the load that keeps CPUs awake.
fn awake_control([below, above]: [&Outcome; 2], awake: &[Indexed<'_>], rise: i64) -> Option<AwakeControl> {
    let median_awake = |outcome: &Outcome| {
        let is_partner = |(_, other): &&Indexed<'_>| {
            let load = outcome.condition.load.clone();
            let condition = howlate_model::Condition { load, ..other.condition.clone() };
            condition == outcome.condition
        };
        super::median(awake.iter().find(is_partner)?.1)
    };
    let (median_below, median_above) = (median_awake(below)?, median_awake(above)?);
    let remaining = median_above.as_nanos() - median_below.as_nanos();
    Some(AwakeControl { median_below, median_above, step_is_gone: remaining < rise / 2 })
}

/// What conditions of one sweep have in common: everything but the length.
fn family(outcome: &Outcome) -> (Mechanism, Policy, Option<Span>, Option<u32>, &Load, &Option<TunedKnobs>) {
    let condition = &outcome.condition;
    (
        condition.work.mechanism(),
        condition.policy,
        condition.slack_ns,
        condition.cpu,
        &condition.load,
        &condition.tuned,
    )
}

/// Conditions that differ only in their length, which is ascending.
fn sweeps<'a>(idle: &[Indexed<'a>]) -> Vec<Vec<Indexed<'a>>> {
    let mut families: Vec<Vec<Indexed<'a>>> = Vec::new();
    for &indexed in idle.iter().filter(|(_, outcome)| is_kernel_timed(outcome)) {
        match families.iter_mut().find(|members| family(members[0].1) == family(indexed.1)) {
            Some(members) => members.push(indexed),
            None => families.push(vec![indexed]),
        }
    }
    families
        .iter_mut()
        .for_each(|members| members.sort_by_key(|(_, outcome)| outcome.condition.work.length()));
    families
}

/// Whether only the kernel's timers decide when a sleep ends: runtimes round, busy-waiting does not sleep, and calls that add slack in
/// proportion to the length make steps of their own.
fn is_kernel_timed(outcome: &Outcome) -> bool {
    let timed = outcome.condition.work.wait().is_some_and(|wait| wait != Wait::BusyWait);
    timed && outcome.condition.work.period().is_none() && slack_of_call(outcome).is_none()
}

fn origins(step: lateness_steps::SweepStep, system: &System) -> Vec<StepOrigin> {
    let within = |length: Span| step.below < length && length <= step.above;
    let states = system.cpus.first().map(|cpu| cpu.idle_states.as_slice()).unwrap_or_default();
    let mut origins: Vec<StepOrigin> = states
        .iter()
        .filter(|state| !state.disabled && within(Span::from_micros(state.residency_us)))
        .map(|state| StepOrigin::IdleState {
            name: state.name.clone(),
            residency: Span::from_micros(state.residency_us),
            exit_latency: Span::from_micros(state.exit_latency_us),
        })
        .collect();
    if origins.is_empty() {
        let polled = host_halt_poll(system).filter(|limit| step.below <= *limit && *limit < step.above);
        origins.extend(polled.map(|limit| StepOrigin::HaltPoll { limit }));
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::tests::{idle, of_length, sleeps};

    fn guest(architecture: &str) -> System {
        System { hypervisor: Some("kvm".into()), architecture: architecture.into(), ..System::default() }
    }

    /// Medians as a KVM guest shows them: a step between 200 µs and 250 µs.
    fn sweep() -> Vec<Outcome> {
        vec![of_length(100_000, 4_600), of_length(200_000, 4_600), of_length(250_000, 11_600)]
    }

    #[test]
    fn what_lies_at_a_step_is_named_for_the_architecture_it_holds_for() {
        let sweep = sweep();
        let origins = |system: &System| find(&idle(&sweep), &[], system)[0].origins.clone();
        assert_eq!(origins(&guest("x86_64")), [StepOrigin::HaltPoll { limit: Span::from_micros(200) }]);
        assert_eq!(origins(&guest("aarch64")), []);
        assert_eq!(origins(&System::default()), []);
    }

    #[test]
    fn a_step_that_goes_when_cpus_are_kept_awake_was_the_idle_state() {
        let sweep = sweep();
        let controlled = |above: i64| {
            let awake = [of_length(200_000, 3_000), of_length(250_000, above)].map(|mut outcome| {
                outcome.condition.load = Load::awake();
                outcome
            });
            find(&idle(&sweep), &idle(&awake), &guest("x86_64"))[0].awake.unwrap().step_is_gone
        };
        assert!(controlled(3_100));
        assert!(!controlled(10_000));
        assert_eq!(find(&idle(&sweep), &[], &guest("x86_64"))[0].awake, None);
    }

    #[test]
    fn slack_that_grows_with_the_length_is_no_step() {
        let mut growing = [(10_000_000, 10_000), (100_000_000, 100_000)].map(|(length, late)| {
            let mut outcome = sleeps(Wait::Ppoll, Some(1), late);
            outcome.condition.work = of_length(length, late).condition.work;
            outcome
        });
        assert_eq!(
            find(&idle(&growing), &[], &guest("x86_64")).len(),
            1,
            "by clock_nanosleep it would be one"
        );
        for outcome in &mut growing {
            outcome.condition.work =
                crate::insight::tests::work(Wait::Ppoll, outcome.condition.work.length());
        }
        assert_eq!(find(&idle(&growing), &[], &guest("x86_64")), []);
    }
}
