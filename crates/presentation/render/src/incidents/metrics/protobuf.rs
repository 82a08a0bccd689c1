//! As the messages in which Prometheus reads native histograms, one after the other, each behind its length.
//!
//! Source: `io/prometheus/client/metrics.proto` of <https://github.com/prometheus/client_model>.

use howlate_analyse::incidents::LateCounts;
use howlate_model::{Distribution, Span};

use super::native::with_buckets;
use super::text::{BOUNDS, up_to};
use super::{Family, Kind, Series, Value, families};
use crate::protobuf::Message;

/// Fields of `Metric`, by what it is.
const LABEL: u32 = 1;
const GAUGE: u32 = 2;
const COUNTER: u32 = 3;
const HISTOGRAM: u32 = 7;

/// The counts as protobuf for Prometheus: the histograms have native buckets beside those of the text.
pub fn late_metrics_protobuf(counts: &LateCounts) -> Vec<u8> {
    families(counts)
        .iter()
        .filter(|one| !one.series.is_empty())
        .flat_map(|one| message(one).delimited())
        .collect()
}

fn message(one: &Family<'_>) -> Message {
    let kind = match one.kind {
        Kind::Counter => 0,
        Kind::Gauge => 1,
        Kind::Histogram => 4,
    };
    let head = Message::default().text(1, one.name).text(2, one.help).number(3, kind);
    head.messages(4, one.series.iter().map(|series| metric(one.kind, series)))
}

fn metric(kind: Kind, series: &Series<'_>) -> Message {
    let label = |(name, value): &(&str, String)| Message::default().text(1, name).text(2, value);
    let metric = Message::default().messages(LABEL, series.labels.iter().map(label));
    let field = if kind == Kind::Gauge { GAUGE } else { COUNTER };
    match &series.value {
        Value::Waits(waits) => metric.message(HISTOGRAM, &histogram(waits)),
        Value::Seconds(nanos) => metric.message(field, &Message::default().real(1, in_seconds(*nanos))),
        Value::Whole(number) => metric.message(field, &Message::default().real(1, real(*number))),
    }
}

fn histogram(waits: &Distribution) -> Message {
    let head = Message::default().number(1, waits.count()).real(2, in_seconds(waits.sum_nanos()));
    let bucket = |bound: Span| {
        let upper = in_seconds(i128::from(bound.as_nanos()));
        Message::default().number(1, up_to(waits, bound)).real(2, upper)
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

#[cfg(test)]
mod tests {
    use howlate_model::Latency;

    use super::*;
    use crate::protobuf::tests::{Field, of};

    #[test]
    fn each_family_stands_behind_its_length_and_a_histogram_has_both_kinds_of_buckets() {
        let mut waits = Distribution::default();
        [40_000, 3_000_000, 3_100_000].into_iter().for_each(|ns| waits.record(Latency::from_nanos(ns)));
        let counts =
            LateCounts { waits: [("nginx".to_owned(), waits)].into(), dropped: 7, ..LateCounts::default() };
        let bytes = late_metrics_protobuf(&counts);
        // Lengths stand where a message's keys would: take the families out one by one.
        let (first, rest) = split(&bytes);
        let (second, rest) = split(rest);
        assert!(rest.is_empty(), "what has no series is left out");
        assert_eq!(
            (of(first, 1)[0].text(), of(second, 1)[0].text()),
            ("howlate_late_seconds".to_owned(), "howlate_late_waits_not_kept_total".to_owned())
        );
        let metric = of(first, 4)[0].bytes().to_vec();
        let labels: Vec<String> = of(&metric, 1).iter().map(|label| of(label.bytes(), 2)[0].text()).collect();
        assert_eq!(labels, ["process", "nginx"]);
        let histogram = of(&metric, 7)[0].bytes().to_vec();
        assert_eq!(of(&histogram, 1), [Field::Number(3)]);
        assert_eq!(of(&histogram, 3).len(), BOUNDS.len());
        // Zigzag: 3 is 6.
        assert_eq!((of(&histogram, 5), of(&histogram, 7)), (vec![Field::Number(6)], vec![Field::Number(0)]));
        assert_eq!(of(&histogram, 13)[0], Field::Number(2), "one wait in the first bucket");
        let counter = of(of(second, 4)[0].bytes(), 3)[0].bytes().to_vec();
        assert_eq!(of(&counter, 1), [Field::Real(7.0)]);
    }

    /// A message behind its length, of two bytes at most, and what follows.
    fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
        let (low, high) = (usize::from(bytes[0]), usize::from(bytes[1]));
        let (length, skip) = if low < 0x80 { (low, 1) } else { ((low & 0x7f) | high << 7, 2) };
        bytes[skip..].split_at(length)
    }
}
