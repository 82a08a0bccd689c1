//! The JSON output of `howlate plan-length`.

use howlate_analyse::sequential::RunLengths;
use howlate_model::Span;
use serde::Serialize;

/// What `howlate plan-length --json` prints. Names are public: add, never rename.
#[derive(Serialize)]
struct PlanLengthDocument<'a> {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    figure: String,
    #[serde(rename = "period_ns")]
    period: Span,
    /// Minimum time for each condition.
    #[serde(rename = "least_ns")]
    least: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakeups: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<u64>,
    /// For a number of exceedances, the time after which the limit holds.
    holds: Vec<EventsAndTime>,
    /// For a number of exceedances, the time within which the limit is refuted.
    refuted: Vec<EventsAndTime>,
    to_type: &'a str,
}

#[derive(Serialize)]
struct EventsAndTime {
    exceeded: u64,
    #[serde(rename = "time_ns")]
    time: Span,
}

/// The JSON output for a condition that wakes once per `period`.
pub fn lengths_json(lengths: &RunLengths, period: Span, to_type: &str) -> Result<String, serde_json::Error> {
    let entries = |pairs: &[(u64, Span)]| {
        pairs.iter().map(|&(exceeded, time)| EventsAndTime { exceeded, time }).collect()
    };
    let document = PlanLengthDocument {
        format: 1,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "plan-length",
        figure: lengths.figure.to_string(),
        period,
        least: lengths.least,
        wakeups: lengths.wakeups,
        pairs: lengths.pairs,
        holds: entries(&lengths.holds),
        refuted: entries(&lengths.refuted),
        to_type,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
