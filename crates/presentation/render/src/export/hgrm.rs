//! Percentiles as text for `HdrHistogram`'s plotter (`.hgrm`).

use howlate_analyse::{Analysis, Outcome};
use howlate_model::Latency;

use crate::condition::tags;

/// Steps between 0 and 50 %, between 50 and 75 %, and so on: as in the HdrHistogram libraries.
const STEPS_PER_HALF: u32 = 5;

/// A comment, because the format has no unit.
const UNIT: &str = "#[Unit = microseconds]\n#[Counted = wake-ups that happened]\n";

/// One section per condition with wake-ups, in microseconds. If there are several, each starts with a line `#[Condition = …]`.
pub fn hgrm(analyses: &[Analysis]) -> String {
    let tagged = analyses.iter().flat_map(|analysis| analysis.outcomes().iter().zip(tags(analysis)));
    let outcomes: Vec<(&Outcome, String)> = tagged.filter(|(outcome, _)| outcome.count() > 0).collect();
    let headed = outcomes.len() > 1;
    let section = |(outcome, tag): &(&Outcome, String)| {
        let heading = if headed { format!("#[Condition = {tag}]\n") } else { String::new() };
        heading + &percentiles(outcome)
    };
    outcomes.iter().map(section).collect()
}

fn percentiles(outcome: &Outcome) -> String {
    let latency = outcome.latency();
    let hdr = latency.to_hdr();
    let clipped = latency.clipped().map_or_else(String::new, |from| {
        format!("#[Only counted = from {:.3} on]\n", micros(from.as_nanos().max(0).unsigned_abs()))
    });
    let mut text = format!(
        "{UNIT}{clipped}{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for step in hdr.iter_quantiles(STEPS_PER_HALF) {
        total += step.count_since_last_iteration();
        let (value, quantile) = (micros(step.value_iterated_to()), step.quantile_iterated_to());
        let inverse =
            if quantile < 1.0 { format!(" {:14.2}", 1.0 / (1.0 - quantile)) } else { String::new() };
        text.push_str(&format!("{value:12.3} {quantile:14.12} {total:10}{inverse}\n"));
    }
    let (mean, deviation) = (latency.mean_nanos().unwrap_or(0.0), latency.stddev_nanos().unwrap_or(0.0));
    let max = latency.max().map_or(0, Latency::as_nanos).max(0).unsigned_abs();
    text.push_str(&format!("#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n", mean / 1e3, deviation / 1e3));
    text.push_str(&format!("#[Max     = {:12.3}, Total count    = {:12}]\n", micros(max), latency.count()));
    text.push_str(&format!("#[Buckets = {:12}, SubBuckets     = {:12}]\n", hdr.buckets(), 256));
    text
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}
