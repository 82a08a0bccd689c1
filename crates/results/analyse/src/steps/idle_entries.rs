//! Idle states that the CPU entered while it slept, as counted by cpuidle.

use howlate_model::System;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;

/// How often an idle state was entered per sleep, on both sides of a step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Entered")]
pub struct IdleStateEntries {
    /// As cpuidle calls it.
    pub name: String,
    /// In sleeps before the step.
    pub per_sleep_below: f64,
    /// In sleeps after it.
    pub per_sleep_above: f64,
}

/// Every state of the CPU that was entered at all; empty without cpuidle's counts.
pub(crate) fn idle_state_entries(
    below: &[&Outcome],
    above: &[&Outcome],
    system: &System,
) -> Vec<IdleStateEntries> {
    let (below, above) = (per_sleep(below), per_sleep(above));
    let cpu = system.cpus.iter().find(|cpu| Some(cpu.number) == below.cpu.or(above.cpu));
    let names = cpu.map(|cpu| cpu.idle_states.as_slice()).unwrap_or_default();
    let at =
        |counts: &EntriesPerSleep, number: usize| counts.entries.get(number).copied().unwrap_or_default();
    let state = |(number, state): (usize, &howlate_model::IdleState)| IdleStateEntries {
        name: state.name.clone(),
        per_sleep_below: at(&below, number),
        per_sleep_above: at(&above, number),
    };
    let was_entered = |state: &IdleStateEntries| state.per_sleep_below > 0.0 || state.per_sleep_above > 0.0;
    names.iter().enumerate().map(state).filter(was_entered).collect()
}

struct EntriesPerSleep {
    cpu: Option<u32>,
    entries: Vec<f64>,
}

fn per_sleep(outcomes: &[&Outcome]) -> EntriesPerSleep {
    let sleeps: u64 = outcomes.iter().map(|outcome| outcome.count() + outcome.warm_up.unwrap_or(0)).sum();
    let mut entries: Vec<f64> = Vec::new();
    let effects = outcomes.iter().filter_map(|outcome| outcome.load_effect.as_ref());
    for counts in effects.map(|effect| &effect.idle_entries) {
        entries.resize(entries.len().max(counts.len()), 0.0);
        entries.iter_mut().zip(counts).for_each(|(sum, count)| *sum += *count as f64 / sleeps.max(1) as f64);
    }
    EntriesPerSleep { cpu: outcomes.first().and_then(|outcome| outcome.condition.cpu), entries }
}
