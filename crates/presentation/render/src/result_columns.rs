//! The columns of results: the one list of them, from which each view chooses.

use howlate_analyse::Summary;
use howlate_model::Distribution;

/// A number that results are shown by.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Its name in JSON and in exports.
    pub name: &'static str,
    /// What stands above it.
    pub heading: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// The least number of wake-ups that it says anything of: of so many, one is expected beyond it.
    pub least: u64,
    value: fn(&Summary) -> f64,
}

/// Nanoseconds up to 2^53, which are 104 days, are exact.
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
/// The standard deviation.
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

/// All of them, in the order of JSON and CSV.
pub(crate) const ALL: [ColumnSpec; 10] = [MIN, MEAN, STDDEV, MEDIAN, P90, P95, P99, P99_9, P99_99, MAX];

impl ColumnSpec {
    /// Its value, of which the mean and the deviation have tenths.
    pub(crate) fn value(&self, summary: &Summary) -> f64 {
        (self.value)(summary)
    }

    /// The same in whole nanoseconds.
    #[allow(clippy::cast_possible_truncation, reason = "nanoseconds are enough of a mean")]
    pub fn nanos(&self, summary: &Summary) -> i64 {
        self.value(summary) as i64
    }

    /// Its name with its unit, as data for programs has it: `p99.9_ns`.
    pub(crate) fn name_with_unit(&self) -> String {
        format!("{}_{}", self.name, self.unit)
    }
}

/// What the columns of one row are taken from.
pub(crate) struct RowNumbers {
    summary: Option<Summary>,
    samples: u64,
}

impl RowNumbers {
    /// Numbers for which there are enough of `all`.
    pub(crate) fn supported_by(all: &Distribution) -> Self {
        Self { summary: Summary::from_distribution(all), samples: all.count() }
    }

    /// Every number, however few they are of.
    pub(crate) const fn all_of(summary: Option<Summary>) -> Self {
        Self { summary, samples: u64::MAX }
    }

    /// Whether what stands in a column is only known to be that or more.
    pub(crate) fn is_lower_bound(&self, column: &ColumnSpec) -> bool {
        self.summary
            .as_ref()
            .zip(self.nanos(column))
            .is_some_and(|(summary, nanos)| summary.is_lower_bound(nanos))
    }

    /// The nanoseconds in a column.
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
