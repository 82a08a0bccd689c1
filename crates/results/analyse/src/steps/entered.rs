//! Which idle states the CPU entered while it slept: what cpuidle counts.

use howlate_model::System;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;

/// How often an idle state was entered per sleep, on both sides of a step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entered {
    /// As cpuidle calls it.
    pub name: String,
    /// In sleeps before the step.
    pub per_sleep_below: f64,
    /// In sleeps after it.
    pub per_sleep_above: f64,
}

/// Every state of the CPU that was entered at all; empty where nobody counted.
pub(crate) fn entered(below: &[&Outcome], above: &[&Outcome], system: &System) -> Vec<Entered> {
    let (below, above) = (per_sleep(below), per_sleep(above));
    let cpu = system.cpus.iter().find(|one| Some(one.number) == below.cpu.or(above.cpu));
    let names = cpu.map(|one| one.idle_states.as_slice()).unwrap_or_default();
    let at = |counts: &Counted, number: usize| counts.entries.get(number).copied().unwrap_or_default();
    let state = |(number, state): (usize, &howlate_model::IdleState)| Entered {
        name: state.name.clone(),
        per_sleep_below: at(&below, number),
        per_sleep_above: at(&above, number),
    };
    let was_entered = |one: &Entered| one.per_sleep_below > 0.0 || one.per_sleep_above > 0.0;
    names.iter().enumerate().map(state).filter(was_entered).collect()
}

struct Counted {
    cpu: Option<u32>,
    entries: Vec<f64>,
}

fn per_sleep(outcomes: &[&Outcome]) -> Counted {
    let sleeps: u64 = outcomes.iter().map(|one| one.count() + one.warm_up.unwrap_or(0)).sum();
    let mut entries: Vec<f64> = Vec::new();
    for counts in outcomes.iter().filter_map(|one| one.load_effect.as_ref()).map(|one| &one.idle_entries) {
        entries.resize(entries.len().max(counts.len()), 0.0);
        entries.iter_mut().zip(counts).for_each(|(sum, count)| *sum += *count as f64 / sleeps.max(1) as f64);
    }
    Counted { cpu: outcomes.first().and_then(|one| one.condition.cpu), entries }
}
