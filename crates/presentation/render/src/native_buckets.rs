//! Buckets of Prometheus' native histograms: eight per power of two, empty ones omitted.
//!
//! Source: <https://prometheus.io/docs/specs/native_histograms/>, "Standard exponential schemas".

use std::collections::BTreeMap;

use howlate_model::Distribution;

/// 2³ buckets per power of two, each 9 % wide.
pub(crate) const SCHEMA: i32 = 3;
const PER_DOUBLING: f64 = 8.0;
/// Values up to this count as zero: half of the kernel's first bucket, in seconds.
pub(crate) const ZERO: f64 = 256e-9;

/// A distribution in native buckets.
pub(crate) struct NativeBuckets {
    /// Number of values in the zero bucket.
    pub(crate) zero: u64,
    /// Runs of buckets: distance from the previous run, and number of buckets.
    pub(crate) spans: Vec<(i32, u64)>,
    /// Count of each bucket in the runs.
    pub(crate) counts: Vec<u64>,
}

impl NativeBuckets {
    /// From latencies or waits; each bucket of the distribution counts at its middle.
    pub(crate) fn of(all: &Distribution) -> Self {
        let (zero, buckets) = bucket_counts(all);
        Self { zero, spans: spans(&buckets), counts: buckets.into_values().collect() }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a bucket is wider than what is lost")]
#[allow(
    clippy::cast_possible_truncation,
    reason = "far from the end of the range: 64 doublings of nanoseconds"
)]
fn bucket_counts(all: &Distribution) -> (u64, BTreeMap<i32, u64>) {
    let (mut zero, mut buckets) = (0, BTreeMap::new());
    for bucket in all.buckets() {
        let middle = (bucket.lowest as f64 + bucket.highest as f64) / 2.0 / 1e9;
        match middle > ZERO {
            true => *buckets.entry((middle.log2() * PER_DOUBLING).ceil() as i32).or_default() += bucket.count,
            false => zero += bucket.count,
        }
    }
    (zero, buckets)
}

fn spans(buckets: &BTreeMap<i32, u64>) -> Vec<(i32, u64)> {
    let (mut spans, mut next): (Vec<(i32, u64)>, i32) = (Vec::new(), 0);
    for place in buckets.keys() {
        match spans.last_mut().filter(|_| *place == next) {
            Some((_, length)) => *length += 1,
            None => spans.push((place - next, 1)),
        }
        next = place + 1;
    }
    spans
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
        let (zero, buckets) = bucket_counts(&waits);
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
    fn runs_of_buckets_are_laid_out_with_their_gaps() {
        assert_eq!(spans(&BTreeMap::from([(-2, 5), (-1, 7), (3, 1)])), [(-2, 2), (3, 1)]);
        assert!(spans(&BTreeMap::new()).is_empty());
    }
}
