//! What background loads did.

use howlate_analyse::{Analysis, LoadEffect};
use howlate_model::PartEffect;

use crate::numbers::{round, span_per_span};
use crate::prose::wrapped;
use crate::style::{DIM, paint};

/// One line per load of the recording.
pub(crate) fn loads(analysis: &Analysis, width: usize) -> String {
    let line = |line: &String| format!("{}\n", paint(DIM, wrapped(line, width, 2)));
    load_lines(analysis).iter().map(line).collect()
}

/// A sentence per load.
pub fn load_lines(analysis: &Analysis) -> Vec<String> {
    let mut effects: Vec<(String, LoadEffect)> = Vec::new();
    for outcome in analysis.outcomes() {
        let (name, Some(effect)) = (outcome.condition.load.to_string(), &outcome.load_effect) else {
            continue;
        };
        match effects.iter_mut().find(|(load, _)| *load == name) {
            Some((_, sum)) => sum.add(effect),
            None => effects.push((name, effect.clone())),
        }
    }
    effects.iter().map(|(name, effect)| line_of(name, effect)).collect()
}

/// Loads without parts are named here; otherwise the parts have names.
fn line_of(name: &str, effect: &LoadEffect) -> String {
    let name = if effect.parts.is_empty() { format!("{name}; ") } else { String::new() };
    format!("Load: {name}{}", load_effect(effect))
}

/// `pipe 412 000 wake-ups/s, 1.80 CPUs; whole machine: 415 000 context switches/s, 3 200 interrupts/s`.
pub fn load_effect(effect: &LoadEffect) -> String {
    let parts = effect.parts.iter().map(|part| part_effect(part, effect));
    parts.chain(whole_machine(effect)).collect::<Vec<_>>().join("; ")
}

/// `whole machine: 415 000 context switches/s, 3 200 interrupts/s`; `None` without such counts.
pub(crate) fn whole_machine(effect: &LoadEffect) -> Option<String> {
    let rate = |count: Option<u64>| count.and_then(|count| effect.per_second(count)).map(round);
    let rates = [
        rate(effect.context_switches).map(|rate| format!("{rate} context switches/s")),
        rate(effect.interrupts).map(|rate| format!("{rate} interrupts/s")),
    ];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    (!rates.is_empty()).then(|| format!("whole machine: {}", rates.join(", ")))
}

/// `pipe 412 000 wake-ups/s, 1.80 CPUs`.
pub(crate) fn part_effect(part: &PartEffect, effect: &LoadEffect) -> String {
    let operations = || Some((effect.per_second(part.operations?)?, part.unit.as_deref()?));
    let operations = operations().map(|(rate, unit)| match unit {
        "bytes" => format!("{} MB/s", round(rate / 1e6)),
        unit => format!("{} {unit}/s", round(rate)),
    });
    let cpu = part.cpu.map(|cpu| format!("{:.2} CPUs", span_per_span(cpu, effect.elapsed)));
    let rates: Vec<String> = [operations, cpu].into_iter().flatten().collect();
    format!("{} {}", part.part, rates.join(", "))
}
