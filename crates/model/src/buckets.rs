//! Counts in log-linear buckets, laid out as `HdrHistogram` with two significant digits lays them out.
//!
//! The layout is the library's; counting is done here because it runs once per wake-up:
//! finding a bucket takes a shift and an addition.

use std::fmt;

/// Values below this have a bucket each; above, every doubling has half as many buckets.
const LINEAR: u64 = 256;
/// log2 of the buckets per doubling.
const HALF_BITS: u32 = 7;

/// Buckets per doubling, the steps in which room grows.
const STEP: usize = 1 << HALF_BITS;

/// Counts per bucket, from the doubling of the smallest value counted to that of the largest: latencies have a least
/// one, and what lies below it is most of the buckets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    counts: Vec<u64>,
    /// The place of the first count among all buckets.
    base: usize,
}

impl PartialEq for Buckets {
    /// Room that is not used makes no difference.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// One bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value counted here.
    pub lowest: u64,
    /// The largest value counted here.
    pub highest: u64,
    /// How many.
    pub count: u64,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={} ns", self.lowest, self.highest)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "at most 64 · 128 buckets")]
#[inline]
const fn index(value: u64) -> usize {
    let bucket = (u64::BITS - (value | (LINEAR - 1)).leading_zeros()) - LINEAR.trailing_zeros();
    ((bucket as usize) << HALF_BITS) + (value >> bucket) as usize
}

/// How many bits of a value its bucket does not tell.
#[allow(clippy::cast_possible_truncation, reason = "at most 64")]
const fn shift(index: usize) -> u32 {
    if index < LINEAR as usize { 0 } else { (index >> HALF_BITS) as u32 - 1 }
}

const fn lowest(index: usize) -> u64 {
    let shift = shift(index);
    ((index - ((shift as usize) << HALF_BITS)) as u64) << shift
}

impl Buckets {
    /// Bytes that the counts take.
    pub(crate) fn room(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }

    /// Counts `value` `n` times.
    #[inline]
    pub(crate) fn add(&mut self, value: u64, n: u64) {
        let index = index(value);
        match self.counts.get_mut(index.wrapping_sub(self.base)) {
            Some(count) => *count += n,
            None => self.add_beyond(index, n),
        }
    }

    #[cold]
    fn add_beyond(&mut self, index: usize, n: u64) {
        let from = index / STEP * STEP;
        self.reach(from, from + STEP);
        self.counts[index - self.base] = n;
    }

    /// Makes room for the buckets from one place to another.
    fn reach(&mut self, from: usize, until: usize) {
        if self.counts.is_empty() {
            self.base = from;
        }
        if from < self.base {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.base - from));
            self.base = from;
        }
        // To the last byte: they seldom grow, and a fleet's analysis holds tens of thousands of them.
        let places = self.counts.len().max(until - self.base);
        self.counts.reserve_exact(places - self.counts.len());
        self.counts.resize(places, 0);
    }

    /// Counts all of `other` too.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        self.reach(other.base, other.base + other.counts.len());
        for (index, count) in other.full() {
            let mine = &mut self.counts[index - self.base];
            *mine = mine.saturating_add(count);
        }
    }

    /// Places and counts of the buckets that are not empty, ascending. Most are empty, and stand together: those are passed
    /// over eight at a time.
    pub(crate) fn full(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        const TOGETHER: usize = 8;
        let chunks = (self.base..).step_by(TOGETHER).zip(self.counts.chunks(TOGETHER));
        let full = chunks.filter(|(_, counts)| counts.iter().fold(0, |all, count| all | count) != 0);
        let places = full.flat_map(|(from, counts)| (from..).zip(counts.iter().copied()));
        places.filter(|(_, count)| *count > 0)
    }

    /// Buckets that are not empty, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.full().map(|(index, count)| {
            let lowest = lowest(index);
            Bucket { lowest, highest: lowest + ((1 << shift(index)) - 1), count }
        })
    }

    /// The largest value of the bucket that holds the value of this rank, from 1.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut passed = 0_u64;
        let place = self.full().find_map(|(place, count)| {
            passed = passed.saturating_add(count);
            (passed >= rank).then_some(place)
        })?;
        Some(lowest(place) + ((1 << shift(place)) - 1))
    }

    /// The smallest value that shares a bucket with `value`.
    pub(crate) const fn lowest_alike(value: u64) -> u64 {
        lowest(index(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_is_in_its_bucket_and_the_bucket_is_narrow(value in 0..u64::MAX >> 1) {
            let mut buckets = Buckets::default();
            buckets.add(value, 3);
            let bucket = buckets.iter().next().unwrap();
            prop_assert!(bucket.lowest <= value && value <= bucket.highest && bucket.count == 3);
            prop_assert!(bucket.highest - bucket.lowest <= value / 100);
        }

        #[test]
        fn room_grows_in_any_order(values in proptest::collection::vec(0..u64::MAX >> 1, 1..20), split in 0..20usize) {
            let mut all = Buckets::default();
            values.iter().for_each(|value| all.add(*value, 1));
            let (one, other) = values.split_at(split.min(values.len()));
            let (mut merged, mut later) = (Buckets::default(), Buckets::default());
            one.iter().for_each(|value| merged.add(*value, 1));
            other.iter().rev().for_each(|value| later.add(*value, 1));
            merged.merge(&later);
            prop_assert_eq!(&merged, &all);
            prop_assert_eq!(merged.iter().map(|bucket| bucket.count).sum::<u64>(), values.len() as u64);
            prop_assert_eq!(merged.at_rank(1).is_some(), true);
        }

        #[test]
        fn the_layout_is_that_of_hdrhistogram(value in 0..3_600_000_000_000_u64) {
            let hdr = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 2).unwrap();
            prop_assert_eq!(Buckets::lowest_alike(value), hdr.lowest_equivalent(value));
            let mut buckets = Buckets::default();
            buckets.add(value, 1);
            prop_assert_eq!(buckets.at_rank(1), Some(hdr.highest_equivalent(value)));
        }
    }
}
