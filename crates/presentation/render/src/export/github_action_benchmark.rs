//! Input of github-action-benchmark, tool `customSmallerIsBetter`:
//! <https://github.com/benchmark-action/github-action-benchmark>.

use howlate_analyse::{Analysis, Interval, Outcome, Summary};
use serde::Serialize;

use super::names::numbers;
use crate::condition::condition_name;

#[derive(Serialize)]
struct BenchmarkEntry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// Median, 99th percentile and maximum of every condition, in microseconds, without lower bounds.
pub fn benchmark(analyses: &[Analysis]) -> Result<String, serde_json::Error> {
    let outcomes = analyses.iter().flat_map(Analysis::outcomes);
    let entries: Vec<BenchmarkEntry> = outcomes.flat_map(entries).collect();
    serde_json::to_string_pretty(&entries).map(|text| text + "\n")
}

fn entries(outcome: &Outcome) -> Vec<BenchmarkEntry> {
    let Some(summary) = outcome.planned_summary() else {
        return Vec::new();
    };
    let Summary { p50, p99, max, .. } = summary;
    let entry = |name: &str, nanos: i64, interval: Option<Interval>| BenchmarkEntry {
        name: format!("{} · {name}", condition_name(&outcome.condition)),
        unit: "µs",
        value: micros(nanos),
        range: interval.map(range),
        extra: numbers(outcome),
    };
    let blocks = outcome.planned_blocks();
    let all = [("p50", p50, blocks.p50_interval()), ("p99", p99, blocks.p99_interval()), ("max", max, None)];
    let exact = all.into_iter().filter(|(_, nanos, _)| !summary.is_lower_bound(*nanos));
    exact.map(|(name, nanos, interval)| entry(name, nanos, interval)).collect()
}

/// The 95 % interval.
fn range(interval: Interval) -> String {
    format!("{} to {}", micros(interval.low.as_nanos()), micros(interval.high.as_nanos()))
}

fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1e3
}
