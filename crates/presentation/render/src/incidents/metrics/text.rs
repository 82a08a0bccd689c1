//! As Prometheus' text.

use std::fmt::Write as _;

use howlate_analyse::incidents::LateCounts;
use howlate_model::{Distribution, Span};

use super::{Family, Kind, Series, Value, families};
use crate::export::{family, labelled, seconds};

/// Upper bounds of buckets, in microseconds: steps of 1, 2 and 5 where waits begin to matter.
pub(super) const BOUNDS: [u64; 14] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

/// The counts as text for Prometheus.
pub fn late_metrics(counts: &LateCounts) -> String {
    let mut text = String::new();
    families(counts).iter().for_each(|one| add(&mut text, one));
    text
}

fn add(text: &mut String, one: &Family<'_>) {
    let kind = match one.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    family(text, one.name, kind, one.help);
    one.series.iter().for_each(|series| line(text, one.name, series));
}

fn line(text: &mut String, name: &str, series: &Series<'_>) {
    let labels = labelled(&series.labels);
    let value = match &series.value {
        Value::Waits(waits) => return histogram(text, name, &labels, waits),
        Value::Seconds(nanos) => seconds(*nanos),
        Value::Whole(number) => number.to_string(),
    };
    let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
    let _ = writeln!(text, "{name}{labels} {value}");
}

fn histogram(text: &mut String, name: &str, labels: &str, waits: &Distribution) {
    for bound in BOUNDS.map(Span::from_micros) {
        let le = seconds(i128::from(bound.as_nanos()));
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{le}\"}} {}", up_to(waits, bound));
    }
    let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", waits.count());
    let _ = writeln!(text, "{name}_sum{{{labels}}} {}", seconds(waits.sum_nanos()));
    let _ = writeln!(text, "{name}_count{{{labels}}} {}", waits.count());
}

/// How many waits are no longer; of a bucket that holds the bound, all are counted above it.
pub(super) fn up_to(waits: &Distribution, bound: Span) -> u64 {
    waits.buckets().filter(|bucket| bucket.highest <= bound.as_nanos()).map(|bucket| bucket.count).sum()
}
