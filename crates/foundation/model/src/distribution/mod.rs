//! Distribution of latencies, in constant memory.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

mod printed;
mod stored;

use std::ops::RangeInclusive;

use hdrhistogram::Histogram;
use howlate_histogram::{Bucket, Buckets, PackedBuckets};
use schemars::JsonSchema;

use self::printed::PrintedValues;
pub use self::stored::MOST_COUNTED;
use self::stored::StoredDistribution;
use crate::{Latency, Span};

/// Latencies above this (one hour) are counted in its bucket; the exact maximum is kept beside it.
pub const HIGHEST_TRACKED: u64 = 3_600_000_000_000;

/// Decimal digits that a bucket keeps, as `HdrHistogram` counts them: values are less than 1 % off.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Latencies counted in log-linear buckets, with exact count, minimum, maximum and sum.
///
/// Merging loses nothing. While it counts, memory depends on how many times the largest latency is the smallest, not on their
/// number: 1 KiB for each doubling, 40 KiB from nothing to an hour. What is read or kept takes a byte or two for each bucket
/// that is not empty. Recordings hold it as an `HdrHistogram`.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(with = "StoredDistribution<'_>")]
pub struct Distribution {
    buckets: Buckets,
    count: u64,
    min: i64,
    max: i64,
    sum: i128,
    early: u64,
    /// Upper end of the source's histogram, nanoseconds: latencies beyond it, except the largest, are counted here.
    clipped: Option<i64>,
    /// Exact values as printed in an imported file; `None` if buckets were read or counted.
    printed: Option<Box<PrintedValues>>,
}

/// The value under which a latency is counted.
#[inline]
const fn tracked(nanos: i64) -> u64 {
    match nanos {
        ..0 => 0,
        late if late.unsigned_abs() > HIGHEST_TRACKED => HIGHEST_TRACKED,
        late => late.unsigned_abs(),
    }
}

/// The lower of two optional limits.
fn lower(limit: Option<i64>, other: Option<i64>) -> Option<i64> {
    limit.into_iter().chain(other).min()
}

impl Default for Distribution {
    fn default() -> Self {
        Self {
            buckets: Buckets::default(),
            count: 0,
            min: i64::MAX,
            max: i64::MIN,
            sum: 0,
            early: 0,
            clipped: None,
            printed: None,
        }
    }
}

impl Distribution {
    /// Heap memory, bytes: for limits on imported files.
    pub fn heap_bytes(&self) -> usize {
        self.buckets
            .heap_bytes()
            .saturating_add(self.printed.as_ref().map_or(0, |printed| printed.heap_bytes()))
    }

    /// A copy with packed buckets.
    #[must_use]
    pub fn packed(&self) -> Self {
        Self { buckets: Buckets::Packed(self.packed_buckets()), printed: self.printed.clone(), ..*self }
    }

    fn packed_buckets(&self) -> PackedBuckets {
        self.buckets.to_packed(&self.values())
    }

    /// Range of the values counted; empty if there are none.
    fn values(&self) -> RangeInclusive<u64> {
        tracked(self.min)..=tracked(self.max)
    }

    /// Switches to open buckets, before much is counted or merged.
    pub fn open(&mut self) {
        self.buckets.open();
    }

    /// Resets it, keeping the buffers.
    pub(crate) fn clear(&mut self) {
        let (mut buckets, values) = (std::mem::take(&mut self.buckets), self.values());
        buckets.clear(&values);
        *self = Self { buckets, ..Self::default() };
    }

    /// Counts one latency. An early one (below zero) is counted at 0 and as early.
    #[inline]
    pub fn record(&mut self, latency: Latency) {
        self.record_n(latency, 1);
    }

    /// Counts many latencies; the sums stay in registers meanwhile.
    #[allow(clippy::arithmetic_side_effects, reason = "of readings in memory; 2⁶⁴ latencies fit 128 bits")]
    #[inline]
    pub fn record_all(&mut self, latencies: impl Iterator<Item = Latency>) {
        let (mut count, mut early) = (0, 0);
        let (mut min, mut max, mut sum) = (self.min, self.max, 0_i128);
        self.buckets.count(|buckets| {
            for latency in latencies {
                let nanos = latency.as_nanos();
                buckets.add(tracked(nanos), 1);
                count += 1;
                min = min.min(nanos);
                max = max.max(nanos);
                sum += i128::from(nanos);
                early += u64::from(nanos < 0);
            }
        });
        (self.min, self.max) = (min, max);
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(sum);
        self.early = self.early.saturating_add(early);
    }

    /// Counts a latency `n` times.
    #[inline]
    pub fn record_n(&mut self, latency: Latency, n: u64) {
        let nanos = latency.as_nanos();
        self.buckets.count(|buckets| buckets.add(tracked(nanos), n));
        self.count = self.count.saturating_add(n);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        self.sum = self.sum.saturating_add(i128::from(nanos).saturating_mul(i128::from(n)));
        self.early = self.early.saturating_add(if nanos < 0 { n } else { 0 });
    }

    /// Counts a value printed in an imported file `n` times; percentiles will be exactly such values.
    pub fn record_printed(&mut self, latency: Latency, n: u64) {
        if self.is_empty() {
            self.printed = Some(Box::default());
        }
        if let Some(printed) = self.printed.as_mut().filter(|_| n > 0) {
            printed.add(latency.as_nanos(), n);
        }
        self.record_n(latency, n);
    }

    /// Sets how much less or more than printed each value may have been: the bucket width of the source.
    pub fn set_printed_width(&mut self, below: Span, above: Span) {
        if let Some(printed) = &mut self.printed {
            printed.set_width((below, above));
        }
    }

    /// Counts the latencies that a periodic thread would have seen in the `period`s
    /// swallowed by one latency of `late`: `late − period`, `late − 2·period`, …, down to 0,
    /// and `most` of them at most.
    ///
    /// This is the correction for coordinated omission, for latencies rather than
    /// response times: a wake-up that is `late` hides `⌊late / period⌋` others.
    #[inline]
    pub fn record_swallowed(&mut self, late: Latency, period: Span, most: u64) {
        let mut rest = late.as_nanos();
        let Ok(period) = i64::try_from(period.as_nanos()) else { return };
        if period == 0 {
            return;
        }
        let mut left = most;
        while rest >= period && left > 0 {
            rest = rest.saturating_sub(period);
            // Latencies that share a bucket are counted together, so that an hour's stall
            // at a short period costs as many steps as there are buckets.
            let bucket = Buckets::lowest_equivalent(rest.unsigned_abs().min(HIGHEST_TRACKED));
            let within = rest.saturating_sub(i64::try_from(bucket).unwrap_or(rest));
            let limit = i64::try_from(left.saturating_sub(1)).unwrap_or(i64::MAX);
            let more = within.checked_div(period).unwrap_or(0).min(limit);
            let run = more.unsigned_abs().saturating_add(1);
            self.record_run(rest, period, run);
            rest = rest.saturating_sub(more.saturating_mul(period));
            left = left.saturating_sub(run);
        }
    }

    /// Counts `n` latencies of one bucket: `first`, `first − step`, ….
    #[inline]
    fn record_run(&mut self, first: i64, step: i64, n: u64) {
        self.record_n(Latency::from_nanos(first), n);
        let intervals = n.saturating_sub(1);
        let steps = i128::from(n).saturating_mul(i128::from(intervals)) / 2;
        self.sum = self.sum.saturating_sub(steps.saturating_mul(i128::from(step)));
        self.min =
            self.min.min(first.saturating_sub(step.saturating_mul(i64::try_from(intervals).unwrap_or(0))));
    }

    /// Adds all counts of `other`.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.printed, &other.printed) {
            _ if other.is_empty() => {}
            (printed, _) if self.count == 0 => printed.clone_from(&other.printed),
            (Some(printed), Some(other_printed)) => printed.merge(other_printed),
            (printed, _) => *printed = None,
        }
        self.buckets.merge(&other.buckets);
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.early = self.early.saturating_add(other.early);
        self.clipped = lower(self.clipped, other.clipped);
    }

    /// Number of latencies.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Number of latencies below zero.
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

    /// Marks `from` as the upper end of the source's histogram: latencies beyond it are counted there, except the largest if it is
    /// known. A result equal to `from` is then a lower bound.
    pub fn clip(&mut self, from: Latency) {
        self.clipped = lower(self.clipped, Some(from.as_nanos()));
    }

    /// Upper end of the source's histogram; `None` if it had none.
    pub fn clipped(&self) -> Option<Latency> {
        self.clipped.map(Latency::from_nanos)
    }

    /// Replaces the sum of the buckets, in which clipped latencies are too small, by the source's own; a smaller sum is ignored.
    pub fn set_clipped_sum(&mut self, nanos: i128) {
        if self.clipped.is_some() {
            self.sum = self.sum.max(nanos.min(i128::from(self.max).saturating_mul(i128::from(self.count))));
        }
    }

    /// Values printed in the imported file, with their counts; only the largest of a bucket with too many values.
    pub fn printed_values(&self) -> impl Iterator<Item = (Latency, u64)> + '_ {
        let of = |bucket: Bucket| Some(self.printed.as_ref()?.values_in(bucket.lowest, bucket.count));
        let values = self.buckets().filter_map(of).flatten();
        values.map(|(nanos, count)| (Latency::from_nanos(nanos), count))
    }

    /// Replaces the sum of values that were printed as percentiles or bucket edges by the source's own; an impossible sum is
    /// ignored.
    pub fn set_printed_sum(&mut self, nanos: i128) {
        let times = |value: i64| i128::from(value).saturating_mul(i128::from(self.count));
        if self.printed.is_some() && (times(self.min)..=times(self.max)).contains(&nanos) {
            self.sum = nanos;
        }
    }

    /// The sum in nanoseconds; exact, or the source's own for clipped latencies.
    pub const fn sum_nanos(&self) -> i128 {
        self.sum
    }

    /// The mean in nanoseconds, from the exact sum.
    pub fn mean_nanos(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation in nanoseconds, from the middles of the buckets.
    pub fn stddev_nanos(&self) -> Option<f64> {
        let mean = self.deviation_center()?;
        let square = |bucket: Bucket| {
            let middle = bucket.lowest.midpoint(bucket.highest) as f64;
            (middle - mean).powi(2) * bucket.count as f64
        };
        Some((self.buckets().map(square).sum::<f64>() / self.count as f64).sqrt())
    }

    /// Reference for the deviation: the mean, with clipped latencies as counted, so that the deviation is never too large.
    fn deviation_center(&self) -> Option<f64> {
        if self.clipped.is_none() {
            return self.mean_nanos();
        }
        let sum: f64 = self
            .buckets()
            .map(|bucket| bucket.lowest.midpoint(bucket.highest) as f64 * bucket.count as f64)
            .sum();
        (!self.is_empty()).then(|| sum / self.count as f64)
    }

    /// The smallest latency that at least a share `quantile` (0 to 1) of all do not exceed,
    /// within 1 %, and never outside [min, max]; [`Self::clipped`] where it is known only to be that or more.
    pub fn quantile(&self, quantile: f64) -> Option<Latency> {
        self.quantiles([quantile]).map(|[value]| value)
    }

    /// Several quantiles in one pass; `quantiles` must ascend.
    pub fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> Option<[Latency; N]> {
        let ranks = quantiles.map(|quantile| self.rank(quantile));
        let values = self.buckets.at_ranks(ranks.map(|rank| rank.clamp(1, self.count.max(1))))?;
        let mut found = values.map(|value| i64::try_from(value).unwrap_or(i64::MAX));
        for (value, rank) in found.iter_mut().zip(ranks) {
            if let Some((_, most)) = self.printed_at(*value, rank) {
                *value = most;
            }
            // The highest bucket may hold values beyond what it says; its largest is known.
            let within = if rank >= self.count { self.max } else { *value };
            *value = within.clamp(self.min, self.max);
            if let Some(from) = self.clipped.filter(|from| rank < self.count && *value > *from) {
                *value = from;
            }
        }
        Some(found.map(Latency::from_nanos))
    }

    /// Bounds of a quantile of printed values: those of its bucket, widened by the source's bucket width. `None` if it is exact, or
    /// no values were printed.
    pub fn quantile_bounds(&self, quantile: f64) -> Option<(Latency, Latency)> {
        let (printed, at) = (self.printed.as_ref()?, self.quantile(quantile)?.as_nanos());
        let rank = self.rank(quantile).max(1);
        let is_known = rank >= self.count || self.clipped == Some(at);
        let (least, most) = self.printed_at(at, rank).filter(|_| !is_known)?;
        let nanos = |span: Span| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        let (below, above) = printed.width();
        let lower = least.saturating_sub(nanos(below)).max(self.min.min(least));
        let upper = most.saturating_add(nanos(above)).min(self.max.max(most));
        (lower < upper).then(|| (Latency::from_nanos(lower), Latency::from_nanos(upper)))
    }

    /// Bounds of the value with this rank, which lies in the bucket of `nanos`.
    fn printed_at(&self, nanos: i64, rank: u64) -> Option<(i64, i64)> {
        let printed = self.printed.as_ref()?;
        let bucket = Buckets::lowest_equivalent(tracked(nanos));
        let below = bucket.checked_sub(1).map_or(0, |highest| self.up_to(highest));
        printed.at(bucket, rank.saturating_sub(below))
    }

    /// Median of grouped data: values are taken to be spread evenly within their bucket. For differences of medians, which may be
    /// smaller than a bucket; `quantile(0.5)` is a bucket's end.
    pub fn median(&self) -> Option<Latency> {
        if self.printed.is_some() {
            return self.quantile(0.5);
        }
        let (half, mut below) = (u128::from(self.count).div_ceil(2), 0);
        for bucket in self.buckets() {
            let count = u128::from(bucket.count);
            if count.saturating_add(below) >= half {
                let within = i64::try_from(middle_of(bucket, half.saturating_sub(below))).unwrap_or(i64::MAX);
                let lowest = i64::try_from(bucket.lowest).unwrap_or(i64::MAX);
                return Some(Latency::from_nanos(lowest.saturating_add(within).clamp(self.min, self.max)));
            }
            below = count.saturating_add(below);
        }
        None
    }

    /// Rank of a quantile.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn rank(&self, quantile: f64) -> u64 {
        // Reduced by the rounding error of the product, so that 0.07 of 100 is rank 7 and not 8. Exact for four digits
        // of a quantile up to 10¹¹ latencies.
        (quantile * self.count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64
    }

    /// Number of latencies in the buckets up to that of `value`, nanoseconds.
    pub fn up_to(&self, value: u64) -> u64 {
        self.buckets.count_up_to(value)
    }

    /// The non-empty buckets, ascending, in nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter()
    }

    /// Largest trackable value that an `HdrHistogram` of these latencies needs.
    fn hdr_highest(&self) -> u64 {
        self.max.max(2).unsigned_abs().min(HIGHEST_TRACKED)
    }

    /// The counts as the library's histogram, for exports.
    pub fn to_hdr(&self) -> Histogram<u64> {
        let mut hdr =
            Histogram::new_with_max(self.hdr_highest(), SIGNIFICANT_DIGITS).expect("the bounds are valid");
        for bucket in self.buckets() {
            hdr.record_n(bucket.lowest, bucket.count).expect("within the bounds");
        }
        hdr
    }
}

/// Offset in a bucket, nanoseconds, of the value with this rank (from 1), if values are spread evenly.
/// A bucket is at most an hour wide and holds less than 2⁶⁴.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "42 bits times 65 fit 128; no bucket that is given is empty"
)]
const fn middle_of(bucket: Bucket, rank: u128) -> u128 {
    let width = bucket.highest.abs_diff(bucket.lowest) as u128 + 1;
    width * (2 * rank).saturating_sub(1) / (2 * bucket.count as u128)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;
