//! Many latencies, in constant memory.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buckets::{Bucket, Buckets};
use crate::hdr::{HdrLayout, read_hdr};
use crate::{Latency, Span};

/// Latencies above this (one hour) are counted in its bucket; the exact maximum is kept beside it.
pub const HIGHEST_TRACKED: u64 = 3_600_000_000_000;

/// Decimal digits that a bucket keeps, as `HdrHistogram` counts them: values are less than 1 % off.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Latencies counted in log-linear buckets, with exact count, minimum, maximum and sum.
///
/// Merging loses nothing. Memory depends on the largest latency only, not on their number: 10 KiB
/// for milliseconds, 40 KiB for an hour. Recordings hold it as an `HdrHistogram`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Stored", into = "Stored")]
#[schemars(with = "Stored")]
pub struct Distribution {
    buckets: Buckets,
    count: u64,
    min: i64,
    max: i64,
    sum: i128,
    early: u64,
}

/// What a latency is counted as.
#[inline]
const fn tracked(nanos: i64) -> u64 {
    match nanos {
        ..0 => 0,
        late if late.unsigned_abs() > HIGHEST_TRACKED => HIGHEST_TRACKED,
        late => late.unsigned_abs(),
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self { buckets: Buckets::default(), count: 0, min: i64::MAX, max: i64::MIN, sum: 0, early: 0 }
    }
}

impl Distribution {
    /// Empty, with room for what `other` holds: for the block after it.
    #[must_use]
    pub fn with_room_for(other: &Self) -> Self {
        Self { buckets: Buckets::with_room_for(&other.buckets), ..Self::default() }
    }

    /// Bytes of memory that it takes beside itself: for bounds on what others wrote.
    pub fn room(&self) -> usize {
        self.buckets.room()
    }

    /// Counts one latency. An early one (below zero) is counted at 0 and as early.
    #[inline]
    pub fn record(&mut self, latency: Latency) {
        self.record_n(latency, 1);
    }

    /// Counts many; what is added up stays in registers meanwhile.
    #[inline]
    pub fn record_all(&mut self, latencies: impl Iterator<Item = Latency>) {
        let (mut count, mut early) = (0, 0);
        let (mut min, mut max, mut sum) = (self.min, self.max, 0_i128);
        for latency in latencies {
            let nanos = latency.as_nanos();
            self.buckets.add_beyond_first(tracked(nanos), 1);
            count += 1;
            min = min.min(nanos);
            max = max.max(nanos);
            sum += i128::from(nanos);
            early += u64::from(nanos < 0);
        }
        self.buckets.begin_at(tracked(min));
        (self.min, self.max) = (min, max);
        self.count += count;
        self.sum += sum;
        self.early += early;
    }

    /// Counts the same latency `n` times.
    #[inline]
    pub fn record_n(&mut self, latency: Latency, n: u64) {
        let nanos = latency.as_nanos();
        self.buckets.add(tracked(nanos), n);
        self.count += n;
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
            let bucket = Buckets::lowest_alike(rest.unsigned_abs().min(HIGHEST_TRACKED));
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
        self.buckets.merge(&other.buckets);
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.early = self.early.saturating_add(other.early);
    }

    /// How many latencies were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many of them were below zero.
    pub const fn early(&self) -> u64 {
        self.early
    }

    /// Whether nothing was counted.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The smallest latency, exact.
    pub fn min(&self) -> Option<Latency> {
        (!self.is_empty()).then(|| Latency::from_nanos(self.min))
    }

    /// The largest latency, exact.
    pub fn max(&self) -> Option<Latency> {
        (!self.is_empty()).then(|| Latency::from_nanos(self.max))
    }

    /// The sum in nanoseconds, exact.
    pub const fn sum_nanos(&self) -> i128 {
        self.sum
    }

    /// The mean in nanoseconds, from the exact sum.
    #[allow(clippy::cast_precision_loss, reason = "a mean is shown with three digits")]
    pub fn mean_nanos(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation in nanoseconds, from the middles of the buckets.
    #[allow(clippy::cast_precision_loss, reason = "a deviation is shown with three digits")]
    pub fn stddev_nanos(&self) -> Option<f64> {
        let mean = self.mean_nanos()?;
        let square = |bucket: Bucket| {
            let middle = (bucket.lowest + (bucket.highest - bucket.lowest) / 2) as f64;
            (middle - mean).powi(2) * bucket.count as f64
        };
        Some((self.buckets().map(square).sum::<f64>() / self.count as f64).sqrt())
    }

    /// The smallest latency that at least a share `quantile` (0 to 1) of all do not exceed,
    /// within 1 %, and never outside [min, max].
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn quantile(&self, quantile: f64) -> Option<Latency> {
        // Less what the product may be off by, so that 0.07 of 100 is rank 7 and not 8. Exact for four digits
        // of a quantile up to 10¹¹ latencies.
        let rank = (quantile * self.count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64;
        let value = self.buckets.at_rank(rank.clamp(1, self.count.max(1)))?;
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        // The highest bucket may hold values beyond what it says; its largest is known.
        let value = if rank >= self.count { self.max } else { value };
        Some(Latency::from_nanos(value.clamp(self.min, self.max)))
    }

    /// The buckets that are not empty, ascending, in nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter()
    }

    /// The same counts in the library's type, for exports.
    #[allow(clippy::expect_used, reason = "constant digits; values are within the bounds that are set")]
    pub fn to_hdr(&self) -> Histogram<u64> {
        let highest = self.max.max(2).unsigned_abs().min(HIGHEST_TRACKED);
        let mut hdr = Histogram::new_with_max(highest, SIGNIFICANT_DIGITS).expect("the bounds are valid");
        for bucket in self.buckets() {
            hdr.record_n(bucket.lowest, bucket.count).expect("within the bounds");
        }
        hdr
    }
}

/// A distribution as recordings hold it.
#[derive(Serialize, Deserialize, JsonSchema)]
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
        let written = V2Serializer::new().serialize(&from.to_hdr(), &mut bytes);
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
        let (mut buckets, mut held) = (Buckets::default(), 0_u64);
        let layout = read_hdr(&bytes, HIGHEST_TRACKED, |bucket| {
            buckets.add(bucket.lowest, bucket.count);
            held = held.saturating_add(bucket.count);
        });
        let HdrLayout { digits, lowest, .. } =
            layout.map_err(|error| format!("hdr cannot be read: {error}"))?;
        if digits != u32::from(SIGNIFICANT_DIGITS) || lowest != 1 {
            return Err("hdr has other buckets than this format".to_owned());
        }
        if held != stored.count {
            return Err(format!("count is {}, but hdr holds {held}", stored.count));
        }
        if held > MOST_COUNTED {
            return Err(format!("count is {held}, more than any run can have"));
        }
        let (min, max) = match (held, stored.min_ns, stored.max_ns) {
            (0, ..) => (i64::MAX, i64::MIN),
            (_, Some(min), Some(max)) => (min, max),
            _ => return Err("min_ns and max_ns are missing".to_owned()),
        };
        let read = Self { buckets, count: held, min, max, sum: stored.sum_ns, early: stored.early };
        read.check().map(|()| read)
    }
}

/// More than a run can have: ten million wake-ups a second for 28 years.
const MOST_COUNTED: u64 = 1 << 53;

impl Distribution {
    /// Whether what is stored beside the buckets can be true of them.
    fn check(&self) -> Result<(), String> {
        let (Some(first), Some(last)) = (self.buckets().next(), self.buckets().last()) else {
            let is_empty = self.sum == 0 && self.early == 0;
            return if is_empty {
                Ok(())
            } else {
                Err("sum_ns or early is of latencies that are not there".into())
            };
        };
        if !holds(first, self.min) {
            return Err(format!("min_ns is {}, but the lowest bucket of hdr is {first}", self.min));
        }
        if !holds(last, self.max) || self.max < self.min {
            return Err(format!("max_ns is {}, but the highest bucket of hdr is {last}", self.max));
        }
        let of_zero = if first.lowest == 0 { first.count } else { 0 };
        if (self.early > 0) != (self.min < 0) || self.early > of_zero {
            return Err(format!("early is {}, against min_ns and hdr", self.early));
        }
        if !self.sums().contains(&self.sum) {
            return Err(format!("sum_ns is {}, which the buckets of hdr cannot give", self.sum));
        }
        Ok(())
    }

    /// The sums that the buckets, the extremes and the number of early ones allow.
    fn sums(&self) -> RangeInclusive<i128> {
        let sum = |value: fn(&Bucket) -> u64| -> i128 {
            self.buckets().map(|bucket| i128::from(value(&bucket)) * i128::from(bucket.count)).sum()
        };
        let early = i128::from(self.early);
        let beyond = i128::from(self.max) - i128::from(HIGHEST_TRACKED);
        let in_last = self.buckets().last().map_or(0, |bucket| bucket.count);
        let lowest = sum(|bucket| bucket.lowest) + early * i128::from(self.min);
        let highest = sum(|bucket| bucket.highest) - early + beyond.max(0) * i128::from(in_last);
        lowest..=highest
    }
}

/// Whether a latency is counted in this bucket: early ones in that of 0, those above an hour in its.
fn holds(bucket: Bucket, nanos: i64) -> bool {
    let counted = nanos.max(0).unsigned_abs().min(HIGHEST_TRACKED);
    (bucket.lowest..=bucket.highest).contains(&counted)
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

    /// Stores `all`, changes one value, and reads it.
    fn changed(all: &Distribution, name: &str, value: serde_json::Value) -> Result<Distribution, String> {
        let mut json = serde_json::to_value(all).unwrap();
        json[name] = value;
        serde_json::from_value(json).map_err(|error| error.to_string())
    }

    #[test]
    fn what_contradicts_the_buckets_is_refused() {
        let all = of(&[-40, 300, 5_614, 1_234_567]);
        for (name, value, says) in [
            ("min_ns", 0, "early is 1"),
            ("min_ns", 300, "lowest bucket of hdr is 0..=0 ns"),
            ("min_ns", 2_000_000, "min_ns is 2000000"),
            ("max_ns", 1_000, "max_ns is 1000"),
            ("max_ns", 2_000_000, "highest bucket"),
            ("sum_ns", 5_000, "sum_ns is 5000"),
            ("sum_ns", 9_000_000, "sum_ns is 9000000"),
            ("early", 0, "early is 0"),
            ("early", 2, "early is 2"),
            ("count", 5, "count is 5, but hdr holds 4"),
        ] {
            let error = changed(&all, name, value.into()).unwrap_err();
            assert!(error.contains(says), "{name} = {value}: {error}");
        }
        let max = changed(&all, "max_ns", serde_json::Value::Null).unwrap_err();
        assert!(max.contains("missing"), "{max}");
        assert!(changed(&of(&[]), "sum_ns", 7.into()).unwrap_err().contains("not there"));
        let hours = of(&[i64::try_from(HIGHEST_TRACKED).unwrap() * 3, 7]);
        assert_eq!(changed(&hours, "early", 0.into()), Ok(hours));
    }

    #[test]
    fn counts_that_no_run_can_have_are_refused() {
        let mut many = Distribution::default();
        many.record_n(Latency::from_nanos(7), MOST_COUNTED + 1);
        assert!(changed(&many, "early", 0.into()).unwrap_err().contains("more than any run"));
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
            prop_assert!((got - exact).abs() <= exact / 100 + 1, "{got} against {exact}");
        }

        /// In whole numbers: p/q of n values are at most the one of rank ⌈n·p / q⌉.
        #[test]
        fn ranks_match_exact_arithmetic(n in 1..100_000_000_000u64, share in 0..10_000u64, of in 0..4usize) {
            let (p, q) = [(50, 100), (99, 100), (999, 1_000), (share, 10_000)][of];
            let rank = u64::try_from((u128::from(n) * u128::from(p)).div_ceil(q)).unwrap().max(1);
            #[allow(clippy::cast_precision_loss)]
            let quantile = p as f64 / q as f64;
            // As many low values as the rank: the quantile is low; one fewer: it is high.
            let split = |low: u64| {
                let mut all = Distribution::default();
                if low > 0 { all.record_n(Latency::from_nanos(5), low) }
                if low < n { all.record_n(Latency::from_nanos(100), n - low) }
                nanos(all.quantile(quantile))
            };
            prop_assert_eq!((split(rank), split(rank - 1)), (5, 100));
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
