//! What sleep results mean: timer slack, tick, idle states.

use howlate_model::{Distribution, Latency, Load, Mechanism, Policy, Runtime, Span, System, Wait, Work};

use schemars::JsonSchema;
use serde::Serialize;

use crate::staircase::{self, Step};
use crate::{Analysis, Outcome};

/// An explanation that the numbers bear out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Insight {
    /// Sleeps return as late as their timer slack allows.
    TimerSlack {
        /// The slack in force.
        #[serde(rename = "slack_ns")]
        slack: Span,
        /// The smallest latency seen under it.
        #[serde(rename = "least_ns")]
        least: Latency,
    },
    /// Sleeps end on ticks: there are no high-resolution timers.
    Tick {
        /// The distance of ticks.
        #[serde(rename = "tick_ns")]
        tick: Span,
    },
    /// From some length on, sleeps return clearly later.
    Step {
        /// The longest length before the step.
        #[serde(rename = "below_ns")]
        below: Span,
        /// The shortest after it.
        #[serde(rename = "above_ns")]
        above: Span,
        /// Median latency before.
        #[serde(rename = "median_below_ns")]
        median_below: Latency,
        /// Median latency after.
        #[serde(rename = "median_above_ns")]
        median_above: Latency,
        /// What may cause it.
        origins: Vec<Origin>,
    },
}

/// What may cause a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// An idle state becomes worth entering at a length within the step.
    IdleState {
        /// Its name.
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

/// `KVM_HALT_POLL_NS_DEFAULT` on x86: arch/x86/include/asm/kvm_host.h.
const HALT_POLL: Span = Span::from_micros(200);

/// What the sleeps of a recording mean.
pub fn insights(analysis: &Analysis) -> Vec<Insight> {
    let sleeps: Vec<&Outcome> = analysis
        .outcomes()
        .iter()
        .filter(|outcome| matches!(outcome.condition.work, Work::Sleep { .. }))
        .collect();
    let mut found = Vec::new();
    found.extend(tick(&sleeps, &analysis.header.system));
    found.extend(slack(&sleeps));
    found.extend(steps(&sleeps, &analysis.header.system));
    found
}

/// Whether a mechanism's timeout is subject to timer slack; timerfd and POSIX timers are not.
const fn has_slack(mechanism: Mechanism) -> bool {
    match mechanism {
        Mechanism::Wait(wait) => {
            !matches!(wait, Wait::Timerfd | Wait::PosixTimer | Wait::BusyWait | Wait::SleepThenSpin)
        }
        // Those whose sleep is one timed wait in the kernel, and nothing else that would look the same.
        Mechanism::Runtime(runtime) => {
            matches!(runtime, Runtime::Python | Runtime::C | Runtime::Cpp | Runtime::Rust | Runtime::JavaPark)
        }
        Mechanism::Notifier(_) => false,
    }
}

/// Slack shows when even the earliest wake-ups are about as late as it allows.
fn slack(sleeps: &[&Outcome]) -> Option<Insight> {
    let bears_out = |outcome: &&Outcome| -> Option<(Span, Latency)> {
        let slack = outcome.in_force.as_ref()?.slack_ns;
        // The lower quartile: a sleep may end early in its slack when another timer fires then.
        let usual = outcome.latency().quantile(0.25)?;
        let shows = has_slack(outcome.condition.work.mechanism())
            && slack >= Span::from_micros(1)
            && usual.as_nanos().unsigned_abs() >= slack.as_nanos() * 8 / 10;
        shows.then_some((slack, outcome.latency().min()?))
    };
    let (slack, least) = sleeps.iter().filter_map(bears_out).min_by_key(|(_, least)| *least)?;
    Some(Insight::TimerSlack { slack, least })
}

/// Whether nothing but the kernel decides when a sleep ends: runtimes round, and busy-waiting does not sleep.
fn is_left_to_the_kernel(outcome: &Outcome) -> bool {
    outcome.condition.work.wait().is_some_and(|wait| wait != Wait::BusyWait)
}

/// Without high-resolution timers, medians of short sleeps are at about a tick.
fn tick(sleeps: &[&Outcome], system: &System) -> Option<Insight> {
    let tick = Span::from_nanos(1_000_000_000 / u64::from(system.tick_hz?));
    let short = |outcome: &&&Outcome| {
        let length = outcome.condition.work.length();
        !length.is_zero() && length.times(4) < tick && is_left_to_the_kernel(outcome)
    };
    let medians: Vec<_> =
        sleeps.iter().filter(short).filter_map(|outcome| outcome.latency().quantile(0.5)).collect();
    let on_tick = |latency: &Latency| latency.as_nanos().unsigned_abs() >= tick.as_nanos() * 7 / 10;
    (!medians.is_empty() && medians.iter().all(on_tick)).then_some(Insight::Tick { tick })
}

/// Steps in each sweep over lengths that differ in nothing else.
fn steps(sleeps: &[&Outcome], system: &System) -> Vec<Insight> {
    let mut found: Vec<Insight> = Vec::new();
    for sweep in sweeps(sleeps) {
        for step in staircase::steps(&sweep) {
            let origins = origins(step, system);
            let Step { below, above, median_below, median_above } = step;
            let same = |other: &Insight| matches!(other, Insight::Step { above: a, .. } if *a == above);
            if !found.iter().any(same) {
                found.push(Insight::Step { below, above, median_below, median_above, origins });
            }
        }
    }
    found
}

/// The condition, its length left out.
fn family(outcome: &Outcome) -> (Mechanism, Policy, Option<Span>, Option<u32>, &Load) {
    let condition = &outcome.condition;
    (condition.work.mechanism(), condition.policy, condition.slack_ns, condition.cpu, &condition.load)
}

fn sweeps<'a>(sleeps: &[&'a Outcome]) -> Vec<Vec<(Span, &'a Distribution)>> {
    let mut families: Vec<Vec<&Outcome>> = Vec::new();
    for outcome in sleeps.iter().filter(|outcome| is_left_to_the_kernel(outcome)) {
        match families.iter_mut().find(|members| family(members[0]) == family(outcome)) {
            Some(members) => members.push(outcome),
            None => families.push(vec![outcome]),
        }
    }
    let sorted = |mut members: Vec<&'a Outcome>| {
        members.sort_by_key(|outcome| outcome.condition.work.length());
        members.into_iter().map(|outcome| (outcome.condition.work.length(), outcome.latency())).collect()
    };
    families.into_iter().map(sorted).collect()
}

fn origins(step: Step, system: &System) -> Vec<Origin> {
    let within = |length: Span| step.below < length && length <= step.above;
    let states = system.cpus.first().map(|cpu| cpu.idle_states.as_slice()).unwrap_or_default();
    let mut origins: Vec<Origin> = states
        .iter()
        .filter(|state| !state.disabled && within(Span::from_micros(state.residency_us)))
        .map(|state| Origin::IdleState {
            name: state.name.clone(),
            residency: Span::from_micros(state.residency_us),
            exit_latency: Span::from_micros(state.exit_latency_us),
        })
        .collect();
    let kvm =
        system.hypervisor.as_deref().is_some_and(|name| !name.contains("Xen") && !name.contains("VMware"));
    let crosses = step.below <= HALT_POLL && HALT_POLL < step.above;
    if origins.is_empty() && kvm && crosses {
        origins.push(Origin::HaltPoll { limit: HALT_POLL });
    }
    origins
}
