//! Bencher's Metric Format: <https://bencher.dev/docs/reference/bencher-metric-format/>.

use howlate_analyse::{Analysis, Interval, Outcome, Summary};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::names::planned;
use crate::condition::condition_name;

/// Nanoseconds or a count, with the 95 % interval if known.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl From<(i64, Option<Interval>)> for Metric {
    fn from((nanos, interval): (i64, Option<Interval>)) -> Self {
        let [lower_value, upper_value] =
            [interval.map(|interval| interval.low), interval.map(|interval| interval.high)]
                .map(|end| end.map(|end| end.as_nanos() as f64));
        Self { value: nanos as f64, lower_value, upper_value }
    }
}

/// One benchmark per condition. The names of measures say that all planned wake-ups are counted. Lower bounds are left out, because thresholds would treat them as values.
pub fn bmf(analyses: &[Analysis]) -> Result<String, serde_json::Error> {
    let mut benchmarks = Map::new();
    for outcome in analyses.iter().flat_map(Analysis::outcomes) {
        let measures = measures(outcome)?;
        if !measures.is_empty() {
            let name = unique(&condition_name(&outcome.condition), &benchmarks);
            benchmarks.insert(name, Value::Object(measures));
        }
    }
    serde_json::to_string_pretty(&benchmarks).map(|text| text + "\n")
}

/// The name, numbered where several recordings have the same condition.
fn unique(name: &str, taken: &Map<String, Value>) -> String {
    let numbered = (2_usize..).map(|number| format!("{name} ({number})"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains_key(name)).unwrap_or_default()
}

fn measures(outcome: &Outcome) -> Result<Map<String, Value>, serde_json::Error> {
    let Some(summary) = outcome.planned_summary() else { return Ok(Map::new()) };
    let Summary { p50, p99, max, .. } = summary;
    let blocks = outcome.planned_blocks();
    let mut measures = Map::new();
    let counted = if outcome.knows_planned() { "planned-" } else { "" };
    for (name, nanos, interval) in [
        ("p50-latency", p50, blocks.p50_interval()),
        ("p99-latency", p99, blocks.p99_interval()),
        ("max-latency", max, None),
    ] {
        if !summary.is_lower_bound(nanos) {
            measures
                .insert(format!("{counted}{name}"), serde_json::to_value(Metric::from((nanos, interval)))?);
        }
    }
    measures.insert(format!("{counted}wakeups"), json!({ "value": planned(outcome) }));
    Ok(measures)
}
