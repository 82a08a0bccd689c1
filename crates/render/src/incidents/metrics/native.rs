//! Buckets of Prometheus' native histograms: eight to each doubling, and only those that hold something.
//!
//! Source: <https://prometheus.io/docs/specs/native_histograms/>, "Standard exponential schemas".

use std::collections::BTreeMap;

use howlate_model::Distribution;

use crate::protobuf::Message;

/// 2³ buckets to each doubling, so that each is 9 % wide: finer than what is counted.
const SCHEMA: i32 = 3;
const PER_DOUBLING: f64 = 8.0;
/// What is no longer counts as zero: half of the kernel's first bucket, in seconds.
const ZERO: f64 = 256e-9;

/// Fields of `Histogram` of `metrics.proto`.
const SCHEMA_FIELD: u32 = 5;
const ZERO_THRESHOLD: u32 = 6;
const ZERO_COUNT: u32 = 7;
const POSITIVE_SPAN: u32 = 12;
const POSITIVE_DELTA: u32 = 13;

/// Adds the buckets to a histogram.
pub(super) fn with_buckets(histogram: Message, waits: &Distribution) -> Message {
    let (zero, buckets) = counted(waits);
    let (spans, deltas) = laid_out(&buckets);
    let histogram =
        histogram.signed(SCHEMA_FIELD, i64::from(SCHEMA)).real(ZERO_THRESHOLD, ZERO).number(ZERO_COUNT, zero);
    let span = |(gap, length): (i32, u64)| Message::default().signed(1, i64::from(gap)).number(2, length);
    let histogram = histogram.messages(POSITIVE_SPAN, spans.into_iter().map(span));
    deltas.into_iter().fold(histogram, |histogram, delta| histogram.signed(POSITIVE_DELTA, delta))
}

/// How many count as zero, and how many are in each bucket: those of one of ours by its middle.
#[allow(clippy::cast_precision_loss, reason = "a bucket is wider than what is lost")]
#[allow(
    clippy::cast_possible_truncation,
    reason = "far from the end of the range: 64 doublings of nanoseconds"
)]
fn counted(waits: &Distribution) -> (u64, BTreeMap<i32, u64>) {
    let (mut zero, mut buckets) = (0, BTreeMap::new());
    for one in waits.buckets() {
        let middle = (one.lowest as f64 + one.highest as f64) / 2.0 / 1e9;
        match middle > ZERO {
            true => *buckets.entry((middle.log2() * PER_DOUBLING).ceil() as i32).or_default() += one.count,
            false => zero += one.count,
        }
    }
    (zero, buckets)
}

/// Runs of buckets, each with how far it is from the one before; and by how much each bucket differs from the one before it.
fn laid_out(buckets: &BTreeMap<i32, u64>) -> (Vec<(i32, u64)>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<(i32, u64)>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (place, count) in buckets {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        match spans.last_mut().filter(|_| *place == next) {
            Some((_, length)) => *length += 1,
            None => spans.push((place - next, 1)),
        }
        deltas.push(count - before);
        (next, before) = (place + 1, count);
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use howlate_model::Latency;

    use super::*;

    #[test]
    fn a_wait_is_in_the_bucket_that_holds_it() {
        let mut waits = Distribution::default();
        for ns in [100, 1_000_000_000, 900_000_000, 1_000_000] {
            waits.record(Latency::from_nanos(ns));
        }
        let (zero, buckets) = counted(&waits);
        assert_eq!(zero, 1);
        // Bucket n holds what is above 2^((n−1)/8) s and up to 2^(n/8) s.
        let holds = |place: i32, seconds: f64| {
            (2_f64.powf(f64::from(place - 1) / 8.0)..=2_f64.powf(f64::from(place) / 8.0)).contains(&seconds)
        };
        let near = |seconds: f64| {
            buckets.keys().any(|place| holds(*place, seconds) || holds(*place, seconds * 1.01))
        };
        assert!(near(1.0) && near(0.9) && near(0.001), "{buckets:?}");
        assert_eq!(buckets.values().sum::<u64>(), 3);
    }

    #[test]
    fn runs_of_buckets_are_laid_out_with_their_gaps_and_differences() {
        let buckets = BTreeMap::from([(-2, 5), (-1, 7), (3, 1)]);
        assert_eq!(laid_out(&buckets), (vec![(-2, 2), (3, 1)], vec![5, 2, -6]));
        assert_eq!(laid_out(&BTreeMap::new()), (vec![], vec![]));
    }
}
