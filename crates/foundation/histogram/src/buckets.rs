//! Counts in log-linear buckets, laid out as `HdrHistogram` with two significant digits lays them out.
//!
//! The layout is the library's; counting is done here because it runs once per wake-up:
//! finding a bucket takes a shift and an addition.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use crate::compact_counts::{PackedBuckets, PackedIter};

/// Values below this have a bucket each; above, every doubling has half as many buckets.
const LINEAR: u64 = 256;
/// log2 of the buckets per doubling.
const HALF_BITS: u32 = 7;

/// Buckets per doubling, the steps in which room grows.
const STEP: usize = 1 << HALF_BITS;

/// Counts per bucket: open while values are being counted, otherwise packed, which takes about 20 times less memory.
#[derive(Clone, Debug)]
pub enum Buckets {
    /// An array of counts, for counting.
    Open(OpenBuckets),
    /// Compressed counts, for keeping.
    Packed(PackedBuckets),
}

/// A count for each bucket from the doubling of the smallest value counted to that of the largest. Latencies have a lower bound,
/// and most buckets lie below it.
#[derive(Clone, Debug, Default)]
pub struct OpenBuckets {
    counts: Vec<u64>,
    /// Bucket index of the first count.
    base: usize,
}

impl Default for Buckets {
    fn default() -> Self {
        Self::Open(OpenBuckets::default())
    }
}

impl PartialEq for Buckets {
    /// Unused capacity makes no difference.
    fn eq(&self, other: &Self) -> bool {
        self.non_empty().eq(other.non_empty())
    }
}

/// A bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value counted here.
    pub lowest: u64,
    /// The largest value counted here.
    pub highest: u64,
    /// Number of values counted here.
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

/// Low bits of a value that its bucket does not distinguish.
#[allow(clippy::cast_possible_truncation, reason = "at most 64")]
const fn shift(index: usize) -> u32 {
    if index < LINEAR as usize { 0 } else { (index >> HALF_BITS) as u32 - 1 }
}

const fn lowest(index: usize) -> u64 {
    let shift = shift(index);
    ((index - ((shift as usize) << HALF_BITS)) as u64) << shift
}

impl OpenBuckets {
    /// Adds `n` to the bucket with this index.
    #[inline]
    fn add_at(&mut self, index: usize, n: u64) {
        match self.counts.get_mut(index.wrapping_sub(self.base)) {
            Some(count) => *count = count.saturating_add(n),
            None => self.add_beyond(index, n),
        }
    }

    /// Counts `value` `n` times.
    #[inline]
    pub fn add(&mut self, value: u64, n: u64) {
        self.add_at(index(value), n);
    }

    #[cold]
    fn add_beyond(&mut self, index: usize, n: u64) {
        let from = index / STEP * STEP;
        self.reach(from, from + STEP);
        self.counts[index - self.base] = n;
    }

    /// Grows to hold the buckets with indices `from..until`.
    fn reach(&mut self, from: usize, until: usize) {
        if self.counts.is_empty() {
            self.base = from;
        }
        if from < self.base {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.base - from));
            self.base = from;
        }
        let length = self.counts.len().max(until - self.base);
        self.counts.reserve_exact(length - self.counts.len());
        self.counts.resize(length, 0);
    }

    fn non_empty(&self) -> OpenIter<'_> {
        OpenIter { counts: &self.counts, base: self.base, next: 0 }
    }

    /// The non-empty buckets within a range of values.
    fn non_empty_within(&self, values: &RangeInclusive<u64>) -> OpenIter<'_> {
        let within = self.within(values);
        OpenIter { counts: &self.counts[within.clone()], base: self.base + within.start, next: 0 }
    }

    /// Positions in `counts` of the buckets for these values.
    fn within(&self, values: &RangeInclusive<u64>) -> Range<usize> {
        let position = |index: usize| index.saturating_sub(self.base).min(self.counts.len());
        let start = position(index(*values.start()));
        start..position(index(*values.end()) + 1).max(start)
    }
}

/// Indices and counts of the non-empty buckets, ascending. Empty buckets, which are mostly adjacent, are skipped
/// eight at a time.
#[derive(Clone, Debug)]
pub struct OpenIter<'a> {
    counts: &'a [u64],
    /// Bucket index of the first count.
    base: usize,
    next: usize,
}

impl Iterator for OpenIter<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        const CHUNK: usize = 8;
        while let Some(count) = self.counts.get(self.next) {
            let place = self.next;
            if place.is_multiple_of(CHUNK)
                && let Some(chunk) = self.counts.get(place..place + CHUNK)
                && chunk.iter().fold(0, |all, count| all | count) == 0
            {
                self.next += CHUNK;
                continue;
            }
            self.next += 1;
            if *count > 0 {
                return Some((self.base + place, *count));
            }
        }
        None
    }
}

/// Indices and counts of buckets that are not empty, ascending.
#[derive(Clone, Debug)]
pub enum NonEmptyIter<'a> {
    /// Iterates over open buckets.
    Open(OpenIter<'a>),
    /// Iterates over packed buckets.
    Packed(PackedIter<'a>),
}

impl Iterator for NonEmptyIter<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        match self {
            Self::Open(places) => places.next(),
            Self::Packed(places) => places.next(),
        }
    }

    /// Matches the variant once instead of per item.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, f: F) -> B {
        match self {
            Self::Open(places) => places.fold(init, f),
            Self::Packed(places) => places.fold(init, f),
        }
    }
}

/// Sum of the counts up to the index `last`.
#[inline]
fn sum_up_to(places: impl Iterator<Item = (usize, u64)>, last: usize) -> u64 {
    places.take_while(|(place, _)| *place <= last).fold(0, |sum, (_, count)| sum.saturating_add(count))
}

#[cold]
fn unpack(packed: &PackedBuckets) -> OpenBuckets {
    let mut open = OpenBuckets::default();
    packed.iter().for_each(|(index, count)| open.add_at(index, count));
    open
}

impl Buckets {
    /// Heap memory of the counts, bytes.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Open(open) => open.counts.capacity() * size_of::<u64>(),
            Self::Packed(packed) => packed.encoded().len(),
        }
    }

    /// Opens the buckets and passes them to `count`.
    #[inline]
    pub fn count(&mut self, count: impl FnOnce(&mut OpenBuckets)) {
        let mut open = match std::mem::take(self) {
            Self::Open(open) => open,
            Self::Packed(packed) => unpack(&packed),
        };
        count(&mut open);
        *self = Self::Open(open);
    }

    /// The counts in packed form. `values` is the range that was counted: capacity may extend far beyond it.
    pub fn to_packed(&self, values: &RangeInclusive<u64>) -> PackedBuckets {
        match self {
            Self::Open(open) => open.non_empty_within(values).collect(),
            Self::Packed(packed) => packed.clone(),
        }
    }

    /// Switches to open buckets, before many values are counted.
    pub fn open(&mut self) {
        self.count(|_| ());
    }

    /// Zeroes all counts, which lie within `values`. Open buckets keep their capacity.
    pub fn clear(&mut self, values: &RangeInclusive<u64>) {
        match self {
            Self::Open(open) => {
                let within = open.within(values);
                open.counts[within].fill(0);
            }
            Self::Packed(_) => *self = Self::default(),
        }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Packed(packed), Self::Packed(other)) => packed.merge(other),
            (Self::Open(open), _) if open.counts.is_empty() => self.clone_from(other),
            _ => self.count(|open| other.non_empty().for_each(|(index, count)| open.add_at(index, count))),
        }
    }

    /// Indices and counts of the buckets that are not empty, ascending.
    pub fn non_empty(&self) -> NonEmptyIter<'_> {
        match self {
            Self::Open(open) => NonEmptyIter::Open(open.non_empty()),
            Self::Packed(packed) => NonEmptyIter::Packed(packed.iter()),
        }
    }

    /// Number of values counted up to and including the bucket of `value`.
    pub fn count_up_to(&self, value: u64) -> u64 {
        match self.non_empty() {
            NonEmptyIter::Open(places) => sum_up_to(places, index(value)),
            NonEmptyIter::Packed(places) => sum_up_to(places, index(value)),
        }
    }

    /// The non-empty buckets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.non_empty().map(|(index, count)| {
            let lowest = lowest(index);
            Bucket { lowest, highest: lowest + ((1 << shift(index)) - 1), count }
        })
    }

    /// For each rank (ascending, from 1): the largest value of the bucket that holds the value of that rank.
    pub fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> Option<[u64; N]> {
        let (mut found, mut next, mut passed) = ([0; N], 0, 0_u64);
        for (place, count) in self.non_empty() {
            passed = passed.saturating_add(count);
            while next < N && passed >= ranks[next] {
                found[next] = lowest(place) + ((1 << shift(place)) - 1);
                next += 1;
            }
            if next == N {
                return Some(found);
            }
        }
        None
    }

    /// Index of the bucket that `value` is counted in.
    pub const fn index_of(value: u64) -> usize {
        index(value)
    }

    /// The smallest value that shares a bucket with `value`.
    pub const fn lowest_equivalent(value: u64) -> u64 {
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
            buckets.count(|open| open.add(value, 3));
            let bucket = buckets.iter().next().unwrap();
            prop_assert!(bucket.lowest <= value && value <= bucket.highest && bucket.count == 3);
            prop_assert!(bucket.highest - bucket.lowest <= value / 100);
        }

        #[test]
        fn room_grows_in_any_order(values in proptest::collection::vec(0..u64::MAX >> 1, 1..20), split in 0..20usize) {
            let mut all = Buckets::default();
            values.iter().for_each(|value| all.count(|open| open.add(*value, 1)));
            let (first, second) = values.split_at(split.min(values.len()));
            let (mut merged, mut later) = (Buckets::default(), Buckets::default());
            first.iter().for_each(|value| merged.count(|open| open.add(*value, 1)));
            second.iter().rev().for_each(|value| later.count(|open| open.add(*value, 1)));
            // Whether either is open or packed makes no difference.
            let packed = |buckets: &Buckets| Buckets::Packed(buckets.to_packed(&(0..=u64::MAX >> 1)));
            for (mut left, right) in
                [(packed(&merged), packed(&later)), (packed(&merged), later.clone()), (merged.clone(), packed(&later))]
            {
                left.merge(&right);
                prop_assert_eq!(&left, &all);
            }
            merged.merge(&later);
            prop_assert_eq!(&merged, &all);
            prop_assert_eq!(&Buckets::Open(unpack(&merged.to_packed(&(0..=u64::MAX >> 1)))), &all);
            prop_assert_eq!(merged.iter().map(|bucket| bucket.count).sum::<u64>(), values.len() as u64);
            prop_assert_eq!(merged.at_ranks([1]).is_some(), true);
        }

        #[test]
        fn the_layout_is_that_of_hdrhistogram(value in 0..3_600_000_000_000_u64) {
            let hdr = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 2).unwrap();
            prop_assert_eq!(Buckets::lowest_equivalent(value), hdr.lowest_equivalent(value));
            let mut buckets = Buckets::default();
            buckets.count(|open| open.add(value, 1));
            prop_assert_eq!(buckets.at_ranks([1]), Some([hdr.highest_equivalent(value)]));
        }
    }
}
