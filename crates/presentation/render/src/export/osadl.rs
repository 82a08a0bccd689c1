//! OSADL's RT Dataset 1.0 of periodic threads, drawn by its plotter: <https://github.com/osadl/Latencyplot>.
//!
//! A dataset is one condition on all its CPUs. Classes are microseconds and count wake-ups that happened, as cyclictest does.

use howlate_analyse::{Analysis, Outcome, grouped};
use howlate_model::{Distribution, Property, WorkKind};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::names::started_at;
use crate::to_repeat;

/// Most classes per core: 10 ms. Later wake-ups count as overflows.
const MOST_CLASSES: u64 = 10_000;
const A_MICROSECOND: u64 = 1_000;

/// One dataset per line and condition of periodic threads; `None` without any.
pub fn osadl(analyses: &[Analysis]) -> Option<String> {
    let dataset_lines = |analysis: &Analysis| -> Vec<String> {
        let conditions = conditions(analysis);
        conditions.iter().map(|threads| format!("{}\n", dataset(analysis, threads))).collect()
    };
    let lines: String = analyses.iter().flat_map(dataset_lines).collect();
    (!lines.is_empty()).then_some(lines)
}

/// Threads that ran side by side, in order of their CPUs.
fn conditions(analysis: &Analysis) -> Vec<Vec<&Outcome>> {
    let key = |outcome: &Outcome| -> Vec<String> {
        let is_of_condition = |property: &&Property| !matches!(property, Property::Cpu | Property::Thread);
        Property::ALL
            .iter()
            .filter(is_of_condition)
            .map(|property| property.text(&outcome.condition))
            .collect()
    };
    let is_periodic =
        |outcome: &&Outcome| outcome.condition.work.kind() == WorkKind::Cyclic && outcome.count() > 0;
    let periodic = analysis.outcomes().iter().filter(is_periodic);
    let mut conditions = grouped(periodic.map(|outcome| (key(outcome), outcome)));
    conditions
        .iter_mut()
        .for_each(|threads| threads.sort_by_key(|thread| (thread.condition.cpu, thread.condition.thread)));
    conditions
}

fn dataset(analysis: &Analysis, threads: &[&Outcome]) -> Value {
    let (header, condition) = (&analysis.header, &threads[0].condition);
    let system = &header.system;
    let host = condition.node.as_ref().or(header.node.name.as_ref());
    let (vendor, kind) = system.processor.split_once(' ').unwrap_or((&system.processor, ""));
    json!({
        "format": { "name": "RT Dataset", "version": "1.0" },
        "timestamps": { "origin": header.started, "dataset": dataset_time(analysis) },
        "system": { "hostname": host.map_or("", String::as_str) },
        "processor": { "family": system.architecture, "vendor": vendor, "type": kind },
        "kernel": { "version": condition.kernel, "config": [], "cmdline": system.command_line },
        "condition": {
            "load": condition.load.to_string(),
            "cycles": threads.iter().map(|thread| thread.count()).max(),
            "interval": condition.work.length().as_nanos() / A_MICROSECOND,
            "cyclictest": to_repeat(analysis),
            "policy": Property::Policy.text(condition),
            "cpus": threads.iter().map(|thread| thread.condition.cpu).collect::<Vec<_>>(),
        },
        "latency": latency(threads),
    })
}

/// Time of the dataset: that of its recording, so that the output is reproducible.
fn dataset_time(analysis: &Analysis) -> String {
    let at = started_at(analysis);
    if at == Timestamp::UNIX_EPOCH { String::new() } else { at.to_string() }
}

/// The classes, then the counts per class of each core.
fn latency(threads: &[&Outcome]) -> Value {
    let maxima: Vec<u64> = threads.iter().map(|thread| micros(thread.latency())).collect();
    let classes = maxima.iter().max().map_or(0, |most| most + 1).min(MOST_CLASSES);
    let core_counts: Vec<(Vec<u64>, u64)> =
        threads.iter().map(|thread| counts(thread.latency(), classes)).collect();
    let cores =
        std::iter::once((0..classes).collect()).chain(core_counts.iter().map(|(counts, _)| counts.clone()));
    json!({
        "granularity": "microseconds",
        "cores": cores.collect::<Vec<_>>(),
        "maxima": maxima,
        "overflows": core_counts.iter().map(|(_, beyond)| *beyond).collect::<Vec<_>>(),
    })
}

/// The maximum in whole microseconds.
fn micros(latency: &Distribution) -> u64 {
    let nanos = latency.max().map_or(0, |max| max.as_nanos());
    u64::try_from(nanos).unwrap_or(0) / A_MICROSECOND
}

/// Number of wake-ups in each class, and beyond.
fn counts(latency: &Distribution, classes: u64) -> (Vec<u64>, u64) {
    let mut counts = vec![0; usize::try_from(classes).unwrap_or(0)];
    let (most, mut beyond) = (micros(latency), 0);
    for bucket in latency.buckets() {
        // A bucket wider than a class must not exceed the maximum.
        let class = (bucket.highest / A_MICROSECOND).min(most);
        match usize::try_from(class).ok().and_then(|class| counts.get_mut(class)) {
            Some(count) => *count += bucket.count,
            None => beyond += bucket.count,
        }
    }
    (counts, beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Latency;

    #[test]
    fn every_wake_up_is_in_its_class_or_beyond() {
        let mut latency = Distribution::default();
        for nanos in [-5, 0, 999, 1_000, 2_500, 2_600, 20_000_000] {
            latency.record(Latency::from_nanos(nanos));
        }
        let (counts, beyond) = counts(&latency, 10);
        assert_eq!((&counts[..4], beyond), (&[3, 1, 2, 0][..], 1));
        assert_eq!(micros(&latency), 20_000);
    }
}
