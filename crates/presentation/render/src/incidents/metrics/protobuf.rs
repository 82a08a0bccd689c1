//! Metrics in Prometheus' protobuf format with native histograms: delimited messages, each preceded by its length.
//!
//! Source: `io/prometheus/client/metrics.proto` of <https://github.com/prometheus/client_model>.

use howlate_analyse::incidents::LateCounts;
use howlate_model::{Distribution, Span};

use super::text::{BOUNDS, up_to};
use super::{MetricFamily, MetricKind, MetricSeries, MetricValue, families};
use crate::native_buckets::{NativeBuckets, SCHEMA, ZERO};
use crate::protobuf::ProtobufMessage;

/// Fields of `Metric`, by kind of metric.
const LABEL: u32 = 1;
const GAUGE: u32 = 2;
const COUNTER: u32 = 3;
const HISTOGRAM: u32 = 7;

/// The metrics as protobuf. Histograms have native buckets besides the classic ones.
pub fn late_metrics_protobuf(counts: &LateCounts) -> Vec<u8> {
    families(counts)
        .iter()
        .filter(|family| !family.series.is_empty())
        .flat_map(|family| message(family).delimited())
        .collect()
}

fn message(family: &MetricFamily<'_>) -> ProtobufMessage {
    let kind = match family.kind {
        MetricKind::Counter => 0,
        MetricKind::Gauge => 1,
        MetricKind::Histogram => 4,
    };
    let head = ProtobufMessage::default().text(1, family.name).text(2, family.help).number(3, kind);
    head.messages(4, family.series.iter().map(|series| metric(family.kind, series)))
}

fn metric(kind: MetricKind, series: &MetricSeries<'_>) -> ProtobufMessage {
    let label = |(name, value): &(&str, String)| ProtobufMessage::default().text(1, name).text(2, value);
    let metric = ProtobufMessage::default().messages(LABEL, series.labels.iter().map(label));
    let field = if kind == MetricKind::Gauge { GAUGE } else { COUNTER };
    match &series.value {
        MetricValue::Waits(waits) => metric.message(HISTOGRAM, &histogram(waits)),
        MetricValue::Seconds(nanos) => {
            metric.message(field, &ProtobufMessage::default().real(1, in_seconds(*nanos)))
        }
        MetricValue::Whole(number) => {
            metric.message(field, &ProtobufMessage::default().real(1, real(*number)))
        }
    }
}

fn histogram(waits: &Distribution) -> ProtobufMessage {
    let head = ProtobufMessage::default().number(1, waits.count()).real(2, in_seconds(waits.sum_nanos()));
    let bucket = |bound: Span| {
        let upper = in_seconds(i128::from(bound.as_nanos()));
        ProtobufMessage::default().number(1, up_to(waits, bound)).real(2, upper)
    };
    with_buckets(head.messages(3, BOUNDS.map(|micros| bucket(Span::from_micros(micros)))), waits)
}

#[allow(clippy::cast_precision_loss, reason = "Prometheus has 53 bits for each number")]
fn in_seconds(nanos: i128) -> f64 {
    nanos as f64 / 1e9
}

#[allow(clippy::cast_precision_loss, reason = "Prometheus has 53 bits for each number")]
fn real(number: i64) -> f64 {
    number as f64
}

/// Fields of `Histogram` of `metrics.proto`.
const SCHEMA_FIELD: u32 = 5;
const ZERO_THRESHOLD: u32 = 6;
const ZERO_COUNT: u32 = 7;
const POSITIVE_SPAN: u32 = 12;
const POSITIVE_DELTA: u32 = 13;

/// Adds native buckets to a histogram.
pub(super) fn with_buckets(histogram: ProtobufMessage, waits: &Distribution) -> ProtobufMessage {
    let NativeBuckets { zero, spans, counts } = NativeBuckets::of(waits);
    let histogram =
        histogram.signed(SCHEMA_FIELD, i64::from(SCHEMA)).real(ZERO_THRESHOLD, ZERO).number(ZERO_COUNT, zero);
    let span =
        |(gap, length): (i32, u64)| ProtobufMessage::default().signed(1, i64::from(gap)).number(2, length);
    let histogram = histogram.messages(POSITIVE_SPAN, spans.into_iter().map(span));
    differences(&counts)
        .into_iter()
        .fold(histogram, |histogram, delta| histogram.signed(POSITIVE_DELTA, delta))
}

/// Difference of each count to the previous one.
fn differences(counts: &[u64]) -> Vec<i64> {
    let counts = counts.iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX));
    let before = std::iter::once(0).chain(counts.clone());
    counts.zip(before).map(|(count, before)| count - before).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::Latency;

    use super::*;
    use crate::protobuf::tests::{FieldValue, values};

    #[test]
    fn each_family_stands_behind_its_length_and_a_histogram_has_both_kinds_of_buckets() {
        let mut waits = Distribution::default();
        [40_000, 3_000_000, 3_100_000].into_iter().for_each(|ns| waits.record(Latency::from_nanos(ns)));
        let counts = LateCounts {
            waits: [("ng\tinx\u{1b}\r".to_owned(), waits)].into(),
            dropped: 7,
            ..LateCounts::default()
        };
        let bytes = late_metrics_protobuf(&counts);
        // Lengths stand where a message's keys would: take the families out one by one.
        let (first, rest) = split(&bytes);
        let (second, rest) = split(rest);
        assert!(rest.is_empty(), "what has no series is left out");
        assert_eq!(
            (values(first, 1)[0].text(), values(second, 1)[0].text()),
            ("howlate_late_seconds".to_owned(), "howlate_late_waits_not_kept_total".to_owned())
        );
        let metric = values(first, 4)[0].bytes().to_vec();
        let labels: Vec<String> =
            values(&metric, 1).iter().map(|label| values(label.bytes(), 2)[0].text()).collect();
        assert_eq!(labels, ["process", r"ng\tinx\u{1b}\r"], "as in the text");
        let histogram = values(&metric, 7)[0].bytes().to_vec();
        assert_eq!(values(&histogram, 1), [FieldValue::Number(3)]);
        assert_eq!(values(&histogram, 3).len(), BOUNDS.len());
        // Zigzag: 3 is 6.
        assert_eq!(
            (values(&histogram, 5), values(&histogram, 7)),
            (vec![FieldValue::Number(6)], vec![FieldValue::Number(0)])
        );
        assert_eq!(values(&histogram, 13)[0], FieldValue::Number(2), "one wait in the first bucket");
        let counter = values(values(second, 4)[0].bytes(), 3)[0].bytes().to_vec();
        assert_eq!(values(&counter, 1), [FieldValue::Real(7.0)]);
    }

    /// The first message, whose length prefix is at most two bytes, and the rest.
    fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
        let (low, high) = (usize::from(bytes[0]), usize::from(bytes[1]));
        let (length, skip) = if low < 0x80 { (low, 1) } else { ((low & 0x7f) | high << 7, 2) };
        bytes[skip..].split_at(length)
    }

    #[test]
    fn buckets_are_told_by_their_differences() {
        assert_eq!(differences(&[5, 7, 1]), [5, 2, -6]);
    }
}
