//! The summary statistics of a distribution.

use howlate_model::{Distribution, Latency};
use schemars::JsonSchema;
use serde::Serialize;

/// Latencies in nanoseconds. Quantiles are within 1 %; the rest is exact but for `stddev`. With `clipped_at`, numbers that
/// equal it are lower bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Smallest latency, ns.
    pub min: i64,
    /// Mean latency, ns.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
    /// Median latency, ns.
    pub p50: i64,
    /// 90 % are at most this.
    pub p90: i64,
    /// 95 % are at most this.
    pub p95: i64,
    /// 99 % are at most this.
    pub p99: i64,
    /// 99.9 % are at most this.
    #[serde(rename = "p99.9")]
    pub p99_9: i64,
    /// 99.99 % are at most this.
    #[serde(rename = "p99.99")]
    pub p99_99: i64,
    /// Largest latency, ns.
    pub max: i64,
    /// Whoever measured did not tell latencies of this and more apart, as the histograms of other programs end somewhere: a
    /// number that equals it is that or more, `stddev` is a lower bound, and so is `mean` where their file has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipped_at: Option<i64>,
}

impl Summary {
    /// Whether `nanos` equals the latency at which the distribution was clipped.
    pub fn is_lower_bound(&self, nanos: i64) -> bool {
        self.clipped_at == Some(nanos)
    }

    /// The summary of `distribution`; `None` if it is empty.
    pub fn from_distribution(distribution: &Distribution) -> Option<Self> {
        let [p50, p90, p95, p99, p99_9, p99_99] =
            distribution.quantiles([0.5, 0.9, 0.95, 0.99, 0.999, 0.9999])?.map(Latency::as_nanos);
        Some(Self {
            min: distribution.min()?.as_nanos(),
            mean: tenths(distribution.mean_nanos()?),
            stddev: tenths(distribution.stddev_nanos()?),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max: distribution.max()?.as_nanos(),
            clipped_at: distribution.clipped().map(Latency::as_nanos),
        })
    }
}

/// Rounds to a tenth of a nanosecond, finer than any clock.
fn tenths(nanos: f64) -> f64 {
    (nanos * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_distribution_has_its_known_numbers() {
        let mut all = Distribution::default();
        (1..=1_000).for_each(|nanos| all.record(Latency::from_nanos(nanos)));
        let summary = Summary::from_distribution(&all).unwrap();
        let within = |actual: i64, exact: i64| {
            assert!((actual - exact).abs() <= exact / 100, "{actual} against {exact}")
        };
        assert_eq!((summary.min, summary.max), (1, 1_000));
        within(summary.p50, 500);
        within(summary.p90, 900);
        within(summary.p99, 990);
        within(summary.p99_9, 999);
        assert_eq!(format!("{:.1}", summary.mean), "500.5");
        assert!((summary.stddev - 288.7).abs() < 2.9, "{}", summary.stddev);
        assert_eq!(Summary::from_distribution(&Distribution::default()), None);
    }

    #[test]
    fn what_was_clipped_is_a_lower_bound_and_the_largest_is_known() {
        let mut all = Distribution::default();
        all.record_n(Latency::from_nanos(20_000), 990);
        all.record_n(Latency::from_nanos(30_000), 9);
        all.record(Latency::from_nanos(5_000_000));
        all.clip(Latency::from_nanos(30_000));
        let summary = Summary::from_distribution(&all).unwrap();
        let bounds = [summary.p50, summary.p99, summary.p99_9, summary.p99_99, summary.max]
            .map(|nanos| summary.is_lower_bound(nanos));
        assert_eq!(bounds, [false, false, true, false, false]);
        assert_eq!((summary.p99_9, summary.clipped_at), (30_000, Some(30_000)));
        let mut both = Distribution::default();
        both.record_n(Latency::from_nanos(70_000), 1_000);
        both.merge(&all);
        assert_eq!(
            both.quantile(0.9),
            Some(Latency::from_nanos(30_000)),
            "what of others lies beyond it as well"
        );
    }
}
