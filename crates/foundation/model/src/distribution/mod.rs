//! Many latencies, in constant memory.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

mod printed;
mod stored;

use std::ops::RangeInclusive;

use hdrhistogram::Histogram;
use howlate_histogram::{Bucket, Buckets, Packed};
use schemars::JsonSchema;

use self::printed::Printed;
pub use self::stored::MOST_COUNTED;
use self::stored::Stored;
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
#[schemars(with = "Stored<'_>")]
pub struct Distribution {
    buckets: Buckets,
    count: u64,
    min: i64,
    max: i64,
    sum: i128,
    early: u64,
    /// From here on, in nanoseconds, whoever measured did not tell latencies apart: they count here, but for the largest.
    clipped: Option<i64>,
    /// Of what was read of a file, its values; `None` where whole buckets were read or counted.
    printed: Option<Box<Printed>>,
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

/// The lower of two limits, either of which there may not be.
fn lower(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
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
    /// Bytes of memory that it takes beside itself: for bounds on what others wrote.
    pub fn room(&self) -> usize {
        self.buckets.room().saturating_add(self.printed.as_ref().map_or(0, |printed| printed.room()))
    }

    /// The same in as little room as it needs.
    #[must_use]
    pub fn packed(&self) -> Self {
        Self { buckets: Buckets::Packed(self.packed_buckets()), printed: self.printed.clone(), ..*self }
    }

    fn packed_buckets(&self) -> Packed {
        self.buckets.packed(&self.values())
    }

    /// What is counted lies in here; the first is the larger where nothing is.
    fn values(&self) -> RangeInclusive<u64> {
        tracked(self.min)..=tracked(self.max)
    }

    /// Takes the room in which more is added quickly, until it is packed again.
    pub fn open(&mut self) {
        self.buckets.open();
    }

    /// Forgets everything; the room for counts stays.
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

    /// Counts many; what is added up stays in registers meanwhile.
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

    /// Counts the same latency `n` times.
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

    /// Counts a value `n` times as a file prints it, which percentiles then give again.
    pub fn record_printed(&mut self, latency: Latency, n: u64) {
        if self.is_empty() {
            self.printed = Some(Box::default());
        }
        if let Some(printed) = self.printed.as_mut().filter(|_| n > 0) {
            printed.add(latency.as_nanos(), n);
        }
        self.record_n(latency, n);
    }

    /// Says that each printed value may have been up to so much less, or more: the width of a bucket.
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
            // Those that share a bucket are counted together, so that an hour's stall
            // at a short period costs as many steps as there are buckets.
            let bucket = Buckets::lowest_alike(rest.unsigned_abs().min(HIGHEST_TRACKED));
            let within = rest.saturating_sub(i64::try_from(bucket).unwrap_or(rest));
            let others = i64::try_from(left.saturating_sub(1)).unwrap_or(i64::MAX);
            let more = within.checked_div(period).unwrap_or(0).min(others);
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
        let others = n.saturating_sub(1);
        let steps = i128::from(n).saturating_mul(i128::from(others)) / 2;
        self.sum = self.sum.saturating_sub(steps.saturating_mul(i128::from(step)));
        self.min =
            self.min.min(first.saturating_sub(step.saturating_mul(i64::try_from(others).unwrap_or(0))));
    }

    /// Counts all of `other` too.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.printed, &other.printed) {
            _ if other.is_empty() => {}
            (printed, _) if self.count == 0 => printed.clone_from(&other.printed),
            (Some(printed), Some(others)) => printed.merge(others),
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

    /// Says that latencies of `from` and more were not told apart: they are counted there, and the largest, where it is
    /// known, as itself. From then on a number of this distribution that equals `from` is a lower bound.
    pub fn clip(&mut self, from: Latency) {
        self.clipped = lower(self.clipped, Some(from.as_nanos()));
    }

    /// From where on latencies were not told apart; `None` where all were.
    pub fn clipped(&self) -> Option<Latency> {
        self.clipped.map(Latency::from_nanos)
    }

    /// Puts the sum that whoever measured knew in place of that of the buckets, in which clipped latencies are too small;
    /// one that is smaller still is not believed.
    pub fn set_clipped_sum(&mut self, nanos: i128) {
        if self.clipped.is_some() {
            self.sum = self.sum.max(nanos.min(i128::from(self.max).saturating_mul(i128::from(self.count))));
        }
    }

    /// The values that a file has printed, with their counts: of those that share a bucket and are too many, the largest.
    pub fn printed_values(&self) -> impl Iterator<Item = (Latency, u64)> + '_ {
        let of = |bucket: Bucket| Some(self.printed.as_ref()?.of(bucket.lowest, bucket.count));
        let values = self.buckets().filter_map(of).flatten();
        values.map(|(nanos, count)| (Latency::from_nanos(nanos), count))
    }

    /// Puts the sum that whoever measured knew in place of that of values that were only printed as percentiles, or as the
    /// edges of wide buckets; one that no such values can have is not believed.
    pub fn set_printed_sum(&mut self, nanos: i128) {
        let times = |value: i64| i128::from(value).saturating_mul(i128::from(self.count));
        if self.printed.is_some() && (times(self.min)..=times(self.max)).contains(&nanos) {
            self.sum = nanos;
        }
    }

    /// The sum in nanoseconds; exact, or as it was told of clipped latencies.
    pub const fn sum_nanos(&self) -> i128 {
        self.sum
    }

    /// The mean in nanoseconds, from the exact sum.
    pub fn mean_nanos(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation in nanoseconds, from the middles of the buckets.
    pub fn stddev_nanos(&self) -> Option<f64> {
        let mean = self.middle()?;
        let square = |bucket: Bucket| {
            let middle = bucket.lowest.midpoint(bucket.highest) as f64;
            (middle - mean).powi(2) * bucket.count as f64
        };
        Some((self.buckets().map(square).sum::<f64>() / self.count as f64).sqrt())
    }

    /// What the deviation is from: of clipped latencies the mean of what they count as, so that it is never too large.
    fn middle(&self) -> Option<f64> {
        if self.clipped.is_none() {
            return self.mean_nanos();
        }
        let sum: f64 =
            self.buckets().map(|one| one.lowest.midpoint(one.highest) as f64 * one.count as f64).sum();
        (!self.is_empty()).then(|| sum / self.count as f64)
    }

    /// The smallest latency that at least a share `quantile` (0 to 1) of all do not exceed,
    /// within 1 %, and never outside [min, max]; [`Self::clipped`] where it is known only to be that or more.
    pub fn quantile(&self, quantile: f64) -> Option<Latency> {
        self.quantiles([quantile]).map(|[value]| value)
    }

    /// The same of several shares, which ascend, in one pass.
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

    /// What a quantile is known to lie between, where a file printed the values: those of the bucket that it is in, and how
    /// much more than printed they may have been. `None` where it is exact, or nothing was printed.
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

    /// The smallest and the largest that the value of a rank may be, which lies in the bucket of `nanos`.
    fn printed_at(&self, nanos: i64, rank: u64) -> Option<(i64, i64)> {
        let printed = self.printed.as_ref()?;
        let bucket = Buckets::lowest_alike(tracked(nanos));
        let below = bucket.checked_sub(1).map_or(0, |highest| self.up_to(highest));
        printed.at(bucket, rank.saturating_sub(below))
    }

    /// The median of grouped data: those that share a bucket are taken to lie in it evenly. For differences of medians,
    /// which may be smaller than a bucket; `quantile(0.5)` is a bucket's end.
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

    /// How many latencies a share of them is.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn rank(&self, quantile: f64) -> u64 {
        // Less what the product may be off by, so that 0.07 of 100 is rank 7 and not 8. Exact for four digits
        // of a quantile up to 10¹¹ latencies.
        (quantile * self.count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64
    }

    /// How many latencies are in the buckets up to the one of `value`, nanoseconds.
    pub fn up_to(&self, value: u64) -> u64 {
        self.buckets.up_to(value)
    }

    /// The buckets that are not empty, ascending, in nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter()
    }

    /// The value up to which a histogram of the library has to be made to hold all.
    fn hdr_highest(&self) -> u64 {
        self.max.max(2).unsigned_abs().min(HIGHEST_TRACKED)
    }

    /// The same counts in the library's type, for exports.
    pub fn to_hdr(&self) -> Histogram<u64> {
        let mut hdr =
            Histogram::new_with_max(self.hdr_highest(), SIGNIFICANT_DIGITS).expect("the bounds are valid");
        for bucket in self.buckets() {
            hdr.record_n(bucket.lowest, bucket.count).expect("within the bounds");
        }
        hdr
    }
}

/// Nanoseconds from a bucket's lowest to the middle of the share that the value `rank` (from 1) of it has, if all have equal shares.
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
