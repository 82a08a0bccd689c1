//! How long a measurement must be, for programs.

use howlate_analyse::sequential::RunLengths;
use howlate_model::Span;
use serde::Serialize;

/// What `howlate plan-length --json` prints. Names are public: add, never rename.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    figure: String,
    #[serde(rename = "period_ns")]
    period: Span,
    /// The time of one condition that it takes at least.
    #[serde(rename = "least_ns")]
    least: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakeups: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<u64>,
    /// A limit that is exceeded so often holds after this time.
    holds: Vec<Exceeded>,
    /// One that is exceeded so often within this time is refuted.
    refuted: Vec<Exceeded>,
    to_type: &'a str,
}

#[derive(Serialize)]
struct Exceeded {
    exceeded: u64,
    #[serde(rename = "time_ns")]
    time: Span,
}

/// The same as `lengths`, of a condition that wakes once in `period`.
///
/// # Errors
///
/// None that is known: numbers and texts are JSON.
pub fn lengths_json(of: &RunLengths, period: Span, to_type: &str) -> Result<String, serde_json::Error> {
    let each =
        |all: &[(u64, Span)]| all.iter().map(|&(exceeded, time)| Exceeded { exceeded, time }).collect();
    let document = Document {
        format: 1,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "plan-length",
        figure: of.figure.to_string(),
        period,
        least: of.least,
        wakeups: of.wakeups,
        pairs: of.pairs,
        holds: each(&of.holds),
        refuted: each(&of.refuted),
        to_type,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
