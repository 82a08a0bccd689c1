//! The comparison as one JSON object. Names are public: add, never rename.

use howlate_analyse::compare::{Compared, Tested, Verdict};
use howlate_model::Margin;
use serde::Serialize;

use super::{ComparisonReport, headline, next_step, wording};

const FORMAT: u32 = 1;

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    format: u32,
    howlate: &'a str,
    command: &'static str,
    base: &'a str,
    news: Vec<&'a str>,
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    margin_ns: Option<u64>,
    /// The margin as a share of the base, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    margin_percent: Option<f64>,
    /// Verdict on all statistics together.
    verdict: Verdict,
    answer: String,
    /// Number of comparisons that p was corrected for.
    comparisons: usize,
    compared: Vec<PairEntry<'a>>,
    caveats: Vec<String>,
    /// The command that would settle what is inconclusive, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    settle: Option<String>,
}

#[derive(Serialize)]
struct PairEntry<'a> {
    /// Path of the new recording; that of the base when both are in one.
    new_recording: &'a str,
    #[serde(flatten)]
    compared: &'a Compared,
    /// The statistics in per cent of the base.
    percent: Vec<Percent>,
}

#[derive(Serialize)]
struct Percent {
    statistic: &'static str,
    difference: Option<f64>,
    interval: Option<(f64, f64)>,
    detectable: Option<f64>,
    /// Whether `new_ns − base_ns` contradicts `difference_ns`, which is what was tested.
    sides_disagree: bool,
}

fn percent(tested: &Tested) -> Percent {
    let of = |nanos: f64| tested.percent(nanos).map(|share| (share * 100.0).round() / 100.0);
    Percent {
        statistic: tested.statistic.name(),
        // No difference is reported between bounds.
        difference: of(tested.difference_ns).filter(|_| !tested.base_at_least && !tested.new_at_least),
        interval: tested.interval_ns.and_then(|(low, high)| of(low).zip(of(high))),
        detectable: tested.detectable_ns.and_then(of),
        sides_disagree: tested.sides_disagree(),
    }
}

/// The margin as a length, or in per cent.
fn margin(report: &ComparisonReport<'_>) -> (Option<u64>, Option<f64>) {
    match report.criteria.margin {
        None => (None, None),
        Some(Margin::Length(span)) => (Some(span.as_nanos()), None),
        Some(Margin::Share(share)) => (None, Some(100.0 * share)),
    }
}

/// The JSON output of `howlate compare`.
pub fn comparison_json(report: &ComparisonReport<'_>) -> Result<String, serde_json::Error> {
    let entry = |pair| PairEntry {
        new_recording: report.new_path(pair),
        compared: pair,
        percent: pair.statistics.iter().map(percent).collect(),
    };
    let mut caveats: Vec<String> = wording::drift_warning(report).into_iter().collect();
    caveats.extend(wording::caveats(report));
    let (margin_ns, margin_percent) = margin(report);
    let document = ComparisonDocument {
        format: FORMAT,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "compare",
        base: report.base.0,
        news: report.news.iter().map(|(path, _)| *path).collect(),
        confidence: report.criteria.confidence,
        margin_ns,
        margin_percent,
        verdict: report.comparison.verdict(),
        answer: headline::answer(report, headline::Detectable::Shown),
        comparisons: report.all().count(),
        compared: report.comparison.compared.iter().map(entry).collect(),
        caveats,
        settle: next_step::sentence(report),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
