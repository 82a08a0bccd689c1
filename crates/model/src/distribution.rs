//! Many latencies, in constant memory.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::{Latency, Span};

/// Latencies above this (one hour) are counted in the last bucket; the exact maximum is kept beside it.
pub const HIGHEST_TRACKED: u64 = 3_600_000_000_000;

/// Decimal digits that a bucket keeps: values are at most 0.1 % off.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies counted in log-linear buckets (`HdrHistogram`), with exact count, minimum, maximum and sum.
///
/// Merging loses nothing. Memory depends on the largest latency only, not on their number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Distribution {
    histogram: Histogram<u64>,
    min: i64,
    max: i64,
    sum: i128,
    early: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { histogram: buckets(), min: i64::MAX, max: i64::MIN, sum: 0, early: 0 }
    }
}

/// Buckets that grow with the largest latency, up to [`HIGHEST_TRACKED`]: 16 KiB for microseconds,
/// 300 KiB for an hour.
#[allow(clippy::expect_used, reason = "a constant argument, covered by every test")]
fn buckets() -> Histogram<u64> {
    Histogram::new(SIGNIFICANT_DIGITS).expect("the digits are valid")
}

impl Distribution {
    /// Counts one latency. An early one (below zero) is counted at 0 and as early.
    pub fn record(&mut self, latency: Latency) {
        self.record_n(latency, 1);
    }

    /// Counts the same latency `n` times.
    pub fn record_n(&mut self, latency: Latency, n: u64) {
        let nanos = latency.as_nanos();
        // The buckets grow as needed; only a failing allocation could fail, and that aborts.
        let counted = self.histogram.record_n(nanos.max(0).unsigned_abs().min(HIGHEST_TRACKED), n);
        debug_assert!(counted.is_ok());
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        self.sum += i128::from(nanos) * i128::from(n);
        self.early += if nanos < 0 { n } else { 0 };
    }

    /// Counts the latencies that a periodic thread would have seen in the `period`s
    /// swallowed by one latency of `late`: `late − period`, `late − 2·period`, …, down to 0.
    ///
    /// This is the correction for coordinated omission, for latencies rather than
    /// response times: a wake-up that is `late` hides `⌊late / period⌋` others.
    pub fn record_swallowed(&mut self, late: Latency, period: Span) {
        let mut rest = late.as_nanos();
        let Ok(period) = i64::try_from(period.as_nanos()) else { return };
        if period == 0 {
            return;
        }
        while rest >= period {
            rest -= period;
            // Those that share a bucket are counted together, so that an hour's stall
            // at a short period costs as many steps as there are buckets.
            let bucket = self.histogram.lowest_equivalent(rest.unsigned_abs());
            let within = rest - i64::try_from(bucket).unwrap_or(rest);
            let same = within / period;
            self.record_run(rest, period, same.unsigned_abs() + 1);
            rest -= same * period;
        }
    }

    /// Counts `n` latencies of one bucket: `first`, `first − step`, ….
    fn record_run(&mut self, first: i64, step: i64, n: u64) {
        self.record_n(Latency::from_nanos(first), n);
        let steps = i128::from(n) * i128::from(n - 1) / 2;
        self.sum -= steps * i128::from(step);
        self.min = self.min.min(first - step * i64::try_from(n - 1).unwrap_or(0));
    }

    /// Counts all of `other` too.
    pub fn merge(&mut self, other: &Self) {
        // The buckets grow as needed, so adding cannot fail.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.early += other.early;
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.min, self.max, self.sum, self.early) = (i64::MAX, i64::MIN, 0, 0);
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// How many of them were below zero.
    pub const fn early(&self) -> u64 {
        self.early
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The smallest latency, exact.
    pub fn min(&self) -> Option<Latency> {
        (!self.is_empty()).then(|| Latency::from_nanos(self.min))
    }

    /// The largest latency, exact.
    pub fn max(&self) -> Option<Latency> {
        (!self.is_empty()).then(|| Latency::from_nanos(self.max))
    }

    /// The mean in nanoseconds, from the exact sum.
    #[allow(clippy::cast_precision_loss, reason = "a mean is shown with three digits")]
    pub fn mean_nanos(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The standard deviation in nanoseconds, from the buckets.
    pub fn stddev_nanos(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.histogram.stdev())
    }

    /// The smallest latency that at least a share `quantile` (0 to 1) of all do not exceed,
    /// within 0.1 %, and never outside [min, max].
    pub fn quantile(&self, quantile: f64) -> Option<Latency> {
        if self.is_empty() {
            return None;
        }
        let value = self.histogram.value_at_quantile(quantile);
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        Some(Latency::from_nanos(value.clamp(self.min, self.max)))
    }

    /// How many latencies are at most `latency`, by bucket.
    pub fn count_up_to(&self, latency: Latency) -> u64 {
        match u64::try_from(latency.as_nanos()) {
            Ok(nanos) => self.histogram.count_between(0, nanos),
            Err(_) => 0,
        }
    }

    /// The buckets themselves, for exports and pictures.
    pub const fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }
}

/// A distribution as recordings hold it.
#[derive(Serialize, Deserialize)]
struct Stored {
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_ns: Option<i64>,
    /// May pass 2^53 on very long runs; it is written as an integer all the same.
    sum_ns: i128,
    #[serde(default, skip_serializing_if = "is_zero")]
    early: u64,
    /// Base64 of the HdrHistogram V2 encoding.
    hdr: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Distribution> for Stored {
    fn from(from: Distribution) -> Self {
        let mut bytes = Vec::new();
        let written = V2Serializer::new().serialize(&from.histogram, &mut bytes);
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
        Self {
            count: from.count(),
            min_ns: from.min().map(Latency::as_nanos),
            max_ns: from.max().map(Latency::as_nanos),
            sum_ns: from.sum,
            early: from.early,
            hdr: BASE64.encode(bytes),
        }
    }
}

impl TryFrom<Stored> for Distribution {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let bytes = BASE64.decode(&stored.hdr).map_err(|error| format!("hdr is not base64: {error}"))?;
        let mut histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("hdr is not an HdrHistogram V2: {error}"))?;
        if histogram.sigfig() != SIGNIFICANT_DIGITS || histogram.low() != 1 {
            return Err("hdr has other buckets than this format".to_owned());
        }
        if histogram.len() != stored.count {
            return Err(format!("count is {}, but hdr holds {}", stored.count, histogram.len()));
        }
        if stored.count > 0 && (stored.min_ns.is_none() || stored.max_ns.is_none()) {
            return Err("min_ns and max_ns are missing".to_owned());
        }
        histogram.auto(true);
        Ok(Self {
            histogram,
            min: stored.min_ns.unwrap_or(i64::MAX),
            max: stored.max_ns.unwrap_or(i64::MIN),
            sum: stored.sum_ns,
            early: stored.early,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(nanos: &[i64]) -> Distribution {
        let mut all = Distribution::default();
        nanos.iter().for_each(|n| all.record(Latency::from_nanos(*n)));
        all
    }

    fn nanos(latency: Option<Latency>) -> i64 {
        latency.unwrap().as_nanos()
    }

    #[test]
    fn exact_values_stay_exact() {
        let all = of(&[5_614, 1_234_567, 83]);
        assert_eq!((nanos(all.min()), nanos(all.max())), (83, 1_234_567));
        assert_eq!(format!("{:.1}", all.mean_nanos().unwrap()), "413421.3");
        assert_eq!(of(&[]).min(), None);
    }

    #[test]
    fn early_wake_ups_are_counted_not_hidden() {
        let all = of(&[-40, 10]);
        assert_eq!((all.count(), all.early(), nanos(all.min())), (2, 1, -40));
    }

    #[test]
    fn the_longest_latency_has_no_upper_limit() {
        let all = of(&[i64::try_from(HIGHEST_TRACKED).unwrap() * 3]);
        assert_eq!(nanos(all.max()), 10_800_000_000_000);
        assert_eq!(all.count(), 1);
    }

    #[test]
    fn one_late_wake_up_hides_the_periods_it_swallowed() {
        // Late 3.4 ms at a period of 1 ms: 2.4, 1.4 and 0.4 ms were never seen.
        let mut hidden = Distribution::default();
        hidden.record_swallowed(Latency::from_nanos(3_400_000), Span::from_millis(1));
        assert_eq!(hidden.count(), 3);
        assert_eq!((nanos(hidden.min()), nanos(hidden.max())), (400_000, 2_400_000));
        assert_eq!(format!("{:.0}", hidden.mean_nanos().unwrap()), "1400000");
    }

    #[test]
    fn correction_moves_the_percentiles_of_the_textbook_case() {
        // 999 wake-ups of 10 µs and one stall of 100 ms at a period of 1 ms. As latencies
        // (not response times) the stall hides 100 wake-ups: 99 ms, 98 ms, … 0 ms.
        let mut all = of(&[10_000; 999]);
        all.record(Latency::from_nanos(100_000_000));
        let raw_p99 = nanos(all.quantile(0.99));
        all.record_swallowed(Latency::from_nanos(100_000_000), Span::from_millis(1));
        assert_eq!(all.count(), 1_100);
        assert!(raw_p99 < 11_000);
        let corrected_p99 = nanos(all.quantile(0.99));
        assert!((89_000_000..=91_000_000).contains(&corrected_p99), "{corrected_p99}");
    }

    proptest! {
        #[test]
        fn swallowed_wake_ups_are_all_counted(late in 0..50_000_000i64, period in 1..1_000_000u64) {
            let mut fast = Distribution::default();
            fast.record_swallowed(Latency::from_nanos(late), Span::from_nanos(period));
            let step = i64::try_from(period).unwrap();
            let mut slow = Distribution::default();
            if late / step < 20_000 {
                let mut rest = late - step;
                while rest >= 0 {
                    slow.record(Latency::from_nanos(rest));
                    rest -= step;
                }
                prop_assert_eq!(&fast, &slow);
            }
            prop_assert_eq!(fast.count(), late.unsigned_abs() / period);
        }

        #[test]
        fn merging_equals_counting_together(a in proptest::collection::vec(-100..10_000_000i64, 0..50),
                                            b in proptest::collection::vec(-100..10_000_000i64, 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn a_recording_gives_it_back(a in proptest::collection::vec(-100..10_000_000_000i64, 0..50)) {
            let before = of(&a);
            let json = serde_json::to_string(&before).unwrap();
            prop_assert_eq!(serde_json::from_str::<Distribution>(&json).unwrap(), before);
        }

        #[test]
        fn quantiles_match_exact_ranks(mut a in proptest::collection::vec(0..10_000_000i64, 1..200), rank in 1..=200usize) {
            let rank = rank.min(a.len());
            #[allow(clippy::cast_precision_loss)]
            let quantile = (rank as f64 - 0.5) / a.len() as f64;
            let all = of(&a);
            a.sort_unstable();
            let (exact, got) = (a[rank - 1], nanos(all.quantile(quantile)));
            prop_assert!((got - exact).abs() <= exact / 1_000 + 1, "{got} against {exact}");
        }

        #[test]
        fn percentiles_never_fall(a in proptest::collection::vec(0..10_000_000i64, 1..100)) {
            let all = of(&a);
            let values: Vec<i64> = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0].iter().map(|q| nanos(all.quantile(*q))).collect();
            prop_assert!(values.is_sorted());
            prop_assert_eq!(nanos(all.quantile(1.0)), nanos(all.max()));
        }
    }
}
