//! Metrics in Prometheus' text format.

use std::fmt::Write as _;

use howlate_analyse::incidents::LateCounts;
use howlate_model::{Distribution, Span};

use super::{MetricFamily, MetricKind, MetricSeries, MetricValue, families};
use crate::export::{family, labelled, seconds};

/// Upper bounds of buckets in microseconds: steps of 1, 2 and 5.
pub(super) const BOUNDS: [u64; 14] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

/// The metrics as text.
pub fn late_metrics(counts: &LateCounts) -> String {
    let mut text = String::new();
    families(counts).iter().for_each(|metric| add(&mut text, metric));
    text
}

fn add(text: &mut String, metric: &MetricFamily<'_>) {
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    family(text, metric.name, kind, metric.help);
    metric.series.iter().for_each(|series| line(text, metric.name, series));
}

fn line(text: &mut String, name: &str, series: &MetricSeries<'_>) {
    let labels = labelled(&series.labels);
    let value = match &series.value {
        MetricValue::Waits(waits) => return histogram(text, name, &labels, waits),
        MetricValue::Seconds(nanos) => seconds(*nanos),
        MetricValue::Whole(number) => number.to_string(),
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

/// Number of waits up to `bound`. A bucket that contains the bound counts as above it.
pub(super) fn up_to(waits: &Distribution, bound: Span) -> u64 {
    waits.buckets().filter(|bucket| bucket.highest <= bound.as_nanos()).map(|bucket| bucket.count).sum()
}
