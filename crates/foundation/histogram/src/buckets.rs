//! Counts in log-linear buckets, laid out as `HdrHistogram` with two significant digits lays them out.
//!
//! The layout is the library's; counting is done here because it runs once per wake-up:
//! finding a bucket takes a shift and an addition.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use crate::compact_counts::{Packed, Places};

/// Values below this have a bucket each; above, every doubling has half as many buckets.
const LINEAR: u64 = 256;
/// log2 of the buckets per doubling.
const HALF_BITS: u32 = 7;

/// Buckets per doubling, the steps in which room grows.
const STEP: usize = 1 << HALF_BITS;

/// Counts per bucket: open while single values are counted, else packed, which takes some 20 times less room.
#[derive(Clone, Debug)]
pub enum Buckets {
    /// An array, which is counted into.
    Open(Open),
    /// In little room.
    Packed(Packed),
}

/// A count for each bucket from the doubling of the smallest value counted to that of the largest: latencies have a least
/// one, and what lies below it is most of the buckets.
#[derive(Clone, Debug, Default)]
pub struct Open {
    counts: Vec<u64>,
    /// The place of the first count among all buckets.
    base: usize,
}

impl Default for Buckets {
    fn default() -> Self {
        Self::Open(Open::default())
    }
}

impl PartialEq for Buckets {
    /// Room that is not used makes no difference.
    fn eq(&self, other: &Self) -> bool {
        self.full().eq(other.full())
    }
}

/// One bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value counted here.
    pub lowest: u64,
    /// The largest value counted here.
    pub highest: u64,
    /// How many values are counted here.
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

impl Open {
    /// Counts what is in this place `n` times.
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

    /// Makes room for the buckets from one place to another.
    fn reach(&mut self, from: usize, until: usize) {
        if self.counts.is_empty() {
            self.base = from;
        }
        if from < self.base {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.base - from));
            self.base = from;
        }
        let places = self.counts.len().max(until - self.base);
        self.counts.reserve_exact(places - self.counts.len());
        self.counts.resize(places, 0);
    }

    fn full(&self) -> OpenPlaces<'_> {
        OpenPlaces { counts: &self.counts, base: self.base, next: 0 }
    }

    /// The same of the buckets that hold these values and what lies between.
    fn full_within(&self, values: &RangeInclusive<u64>) -> OpenPlaces<'_> {
        let within = self.within(values);
        OpenPlaces { counts: &self.counts[within.clone()], base: self.base + within.start, next: 0 }
    }

    /// Where the buckets of these values are among the counts.
    fn within(&self, values: &RangeInclusive<u64>) -> Range<usize> {
        let at = |place: usize| place.saturating_sub(self.base).min(self.counts.len());
        let start = at(index(*values.start()));
        start..at(index(*values.end()) + 1).max(start)
    }
}

/// Places and counts of buckets that are not empty, ascending. Most are empty, and stand together: those are passed over
/// eight at a time.
#[derive(Clone, Debug)]
pub struct OpenPlaces<'a> {
    counts: &'a [u64],
    /// The place of the first of them.
    base: usize,
    next: usize,
}

impl Iterator for OpenPlaces<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        const TOGETHER: usize = 8;
        while let Some(count) = self.counts.get(self.next) {
            let place = self.next;
            if place.is_multiple_of(TOGETHER)
                && let Some(eight) = self.counts.get(place..place + TOGETHER)
                && eight.iter().fold(0, |all, count| all | count) == 0
            {
                self.next += TOGETHER;
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

/// Places and counts of buckets that are not empty, ascending.
#[derive(Clone, Debug)]
pub enum Full<'a> {
    /// Of open buckets.
    Open(OpenPlaces<'a>),
    /// Of packed ones.
    Packed(Places<'a>),
}

impl Iterator for Full<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        match self {
            Self::Open(places) => places.next(),
            Self::Packed(places) => places.next(),
        }
    }

    /// Which of the two it is, is asked once.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, f: F) -> B {
        match self {
            Self::Open(places) => places.fold(init, f),
            Self::Packed(places) => places.fold(init, f),
        }
    }
}

/// How many are counted in places up to `last`.
#[inline]
fn sum_up_to(places: impl Iterator<Item = (usize, u64)>, last: usize) -> u64 {
    places.take_while(|(place, _)| *place <= last).fold(0, |sum, (_, count)| sum.saturating_add(count))
}

#[cold]
fn opened(packed: &Packed) -> Open {
    let mut open = Open::default();
    packed.iter().for_each(|(place, count)| open.add_at(place, count));
    open
}

impl Buckets {
    /// Bytes that the counts take.
    pub fn room(&self) -> usize {
        match self {
            Self::Open(open) => open.counts.capacity() * size_of::<u64>(),
            Self::Packed(packed) => packed.words().len(),
        }
    }

    /// Lets `count` count into them; they are open from then on.
    #[inline]
    pub fn count(&mut self, count: impl FnOnce(&mut Open)) {
        let mut open = match std::mem::take(self) {
            Self::Open(open) => open,
            Self::Packed(packed) => opened(&packed),
        };
        count(&mut open);
        *self = Self::Open(open);
    }

    /// The same counts, packed. All are of `values`: what was counted once may have left far more room than that.
    pub fn packed(&self, values: &RangeInclusive<u64>) -> Packed {
        match self {
            Self::Open(open) => open.full_within(values).collect(),
            Self::Packed(packed) => packed.clone(),
        }
    }

    /// Makes them open, for many more to be counted.
    pub fn open(&mut self) {
        self.count(|_| ());
    }

    /// Empties all buckets, which are of `values`; open ones keep their room.
    pub fn clear(&mut self, values: &RangeInclusive<u64>) {
        match self {
            Self::Open(open) => {
                let within = open.within(values);
                open.counts[within].fill(0);
            }
            Self::Packed(_) => *self = Self::default(),
        }
    }

    /// Counts all of `other` too.
    pub fn merge(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Packed(mine), Self::Packed(others)) => mine.merge(others),
            (Self::Open(open), _) if open.counts.is_empty() => self.clone_from(other),
            _ => self.count(|open| other.full().for_each(|(place, count)| open.add_at(place, count))),
        }
    }

    /// Places and counts of the buckets that are not empty, ascending.
    pub fn full(&self) -> Full<'_> {
        match self {
            Self::Open(open) => Full::Open(open.full()),
            Self::Packed(packed) => Full::Packed(packed.iter()),
        }
    }

    /// How many are counted up to the bucket of `value`.
    pub fn up_to(&self, value: u64) -> u64 {
        match self.full() {
            Full::Open(places) => sum_up_to(places, index(value)),
            Full::Packed(places) => sum_up_to(places, index(value)),
        }
    }

    /// Buckets that are not empty, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.full().map(|(index, count)| {
            let lowest = lowest(index);
            Bucket { lowest, highest: lowest + ((1 << shift(index)) - 1), count }
        })
    }

    /// The largest values of the buckets that hold the values of these ranks, which ascend from 1.
    pub fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> Option<[u64; N]> {
        let (mut found, mut next, mut passed) = ([0; N], 0, 0_u64);
        for (place, count) in self.full() {
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

    /// The place of the bucket that `value` is counted in.
    pub const fn place(value: u64) -> usize {
        index(value)
    }

    /// The smallest value that shares a bucket with `value`.
    pub const fn lowest_alike(value: u64) -> u64 {
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
            let (one, other) = values.split_at(split.min(values.len()));
            let (mut merged, mut later) = (Buckets::default(), Buckets::default());
            one.iter().for_each(|value| merged.count(|open| open.add(*value, 1)));
            other.iter().rev().for_each(|value| later.count(|open| open.add(*value, 1)));
            // Whether either is open or packed makes no difference.
            let packed = |buckets: &Buckets| Buckets::Packed(buckets.packed(&(0..=u64::MAX >> 1)));
            for (mut mine, other) in
                [(packed(&merged), packed(&later)), (packed(&merged), later.clone()), (merged.clone(), packed(&later))]
            {
                mine.merge(&other);
                prop_assert_eq!(&mine, &all);
            }
            merged.merge(&later);
            prop_assert_eq!(&merged, &all);
            prop_assert_eq!(&Buckets::Open(opened(&merged.packed(&(0..=u64::MAX >> 1)))), &all);
            prop_assert_eq!(merged.iter().map(|bucket| bucket.count).sum::<u64>(), values.len() as u64);
            prop_assert_eq!(merged.at_ranks([1]).is_some(), true);
        }

        #[test]
        fn the_layout_is_that_of_hdrhistogram(value in 0..3_600_000_000_000_u64) {
            let hdr = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 2).unwrap();
            prop_assert_eq!(Buckets::lowest_alike(value), hdr.lowest_equivalent(value));
            let mut buckets = Buckets::default();
            buckets.count(|open| open.add(value, 1));
            prop_assert_eq!(buckets.at_ranks([1]), Some([hdr.highest_equivalent(value)]));
        }
    }
}
