//! The columns of results, from which each view selects.

use howlate_analyse::Summary;
use howlate_model::Distribution;

/// A statistic in results.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Name in JSON and exports.
    pub name: &'static str,
    pub heading: &'static str,
    pub unit: &'static str,
    /// Minimum number of wake-ups: with fewer, none is expected beyond the percentile.
    pub least: u64,
    value: fn(&Summary) -> f64,
}

/// Exact up to 2^53 ns, which are 104 days.
const fn exact(nanos: i64) -> f64 {
    nanos as f64
}

const fn nanos_of(
    name: &'static str,
    heading: &'static str,
    least: u64,
    value: fn(&Summary) -> f64,
) -> ColumnSpec {
    ColumnSpec { name, heading, unit: "ns", least, value }
}

/// The smallest latency, exact.
pub const MIN: ColumnSpec = nanos_of("min", "min", 1, |summary| exact(summary.min));
/// The mean, from the exact sum.
pub const MEAN: ColumnSpec = nanos_of("mean", "mean", 1, |summary| summary.mean);
pub const STDDEV: ColumnSpec = nanos_of("stddev", "stddev", 1, |summary| summary.stddev);
/// The median: the 50th percentile.
pub const MEDIAN: ColumnSpec = nanos_of("p50", "median", 1, |summary| exact(summary.p50));
/// 90 % are at most this.
pub const P90: ColumnSpec = nanos_of("p90", "p90", 10, |summary| exact(summary.p90));
/// 95 % are at most this.
pub const P95: ColumnSpec = nanos_of("p95", "p95", 20, |summary| exact(summary.p95));
/// 99 % are at most this.
pub const P99: ColumnSpec = nanos_of("p99", "p99", 100, |summary| exact(summary.p99));
/// 99.9 % are at most this.
pub const P99_9: ColumnSpec = nanos_of("p99.9", "p99.9", 1_000, |summary| exact(summary.p99_9));
/// 99.99 % are at most this.
pub const P99_99: ColumnSpec = nanos_of("p99.99", "p99.99", 10_000, |summary| exact(summary.p99_99));
/// The largest latency, exact.
pub const MAX: ColumnSpec = nanos_of("max", "max", 1, |summary| exact(summary.max));

/// In the order of JSON and CSV.
pub(crate) const ALL: [ColumnSpec; 10] = [MIN, MEAN, STDDEV, MEDIAN, P90, P95, P99, P99_9, P99_99, MAX];

impl ColumnSpec {
    /// The value; mean and deviation have decimals.
    pub(crate) fn value(&self, summary: &Summary) -> f64 {
        (self.value)(summary)
    }

    /// The value in whole nanoseconds.
    #[allow(clippy::cast_possible_truncation, reason = "nanoseconds are enough of a mean")]
    pub fn nanos(&self, summary: &Summary) -> i64 {
        self.value(summary) as i64
    }

    /// The name with unit, as in JSON and CSV: `p99.9_ns`.
    pub(crate) fn name_with_unit(&self) -> String {
        format!("{}_{}", self.name, self.unit)
    }
}

/// The statistics of a row.
pub(crate) struct RowNumbers {
    summary: Option<Summary>,
    samples: u64,
}

impl RowNumbers {
    /// Only statistics with enough wake-ups.
    pub(crate) fn supported_by(distribution: &Distribution) -> Self {
        Self { summary: Summary::from_distribution(distribution), samples: distribution.count() }
    }

    /// All statistics, from any number of wake-ups.
    pub(crate) const fn all_of(summary: Option<Summary>) -> Self {
        Self { summary, samples: u64::MAX }
    }

    /// Whether the value in a column is a lower bound.
    pub(crate) fn is_lower_bound(&self, column: &ColumnSpec) -> bool {
        self.summary
            .as_ref()
            .zip(self.nanos(column))
            .is_some_and(|(summary, nanos)| summary.is_lower_bound(nanos))
    }

    /// The value of a column in nanoseconds; `None` with too few wake-ups.
    pub(crate) fn nanos(&self, column: &ColumnSpec) -> Option<i64> {
        self.summary.as_ref().filter(|_| self.samples >= column.least).map(|summary| column.nanos(summary))
    }
}

#[cfg(test)]
mod tests {
    use howlate_analyse::least_wakeups;
    use howlate_model::Latency;

    use super::*;

    #[test]
    fn columns_are_called_as_the_json_calls_them() {
        let mut all = Distribution::default();
        all.record(Latency::from_nanos(5));
        let json = serde_json::to_value(Summary::from_distribution(&all)).unwrap();
        let mut names = ALL.map(|column| column.name);
        names.sort_unstable();
        assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_percentile_takes_what_the_analysis_asks_for() {
        for (column, quantile) in [(P90, 0.9), (P95, 0.95), (P99, 0.99), (P99_9, 0.999), (P99_99, 0.9999)] {
            assert_eq!(column.least, least_wakeups(quantile), "{}", column.name);
        }
    }
}
