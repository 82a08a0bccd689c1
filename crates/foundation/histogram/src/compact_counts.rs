//! Compressed counts: a byte or two for each bucket that is not empty.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

use std::cmp::Ordering;
use std::sync::Arc;

use crate::varint::{first_word, put_word};

/// Counts by bucket index; empty buckets take no memory. They can be read and merged, but not changed one by one. Clones share
/// the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedBuckets {
    encoded: Arc<[u8]>,
}

impl PackedBuckets {
    /// The counts as bytes, in the encoding of `HdrHistogram`.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// Whether all buckets are empty.
    pub fn is_empty(&self) -> bool {
        self.encoded.is_empty()
    }

    /// Indices and counts, ascending.
    pub fn iter(&self) -> PackedIter<'_> {
        PackedIter { rest: &self.encoded, next: 0 }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            return self.clone_from(other);
        }
        if other.is_empty() {
            return;
        }
        let mut merged = PackedBuilder::with_capacity(self.encoded.len().saturating_add(other.encoded.len()));
        let (mut left_iter, mut right_iter) = (self.iter(), other.iter());
        let (mut left, mut right) = (left_iter.next(), right_iter.next());
        while let (Some((index, count)), Some((other_index, other_count))) = (left, right) {
            match index.cmp(&other_index) {
                Ordering::Less => {
                    merged.push(index, count);
                    left = left_iter.next();
                }
                Ordering::Greater => {
                    merged.push(other_index, other_count);
                    right = right_iter.next();
                }
                Ordering::Equal => {
                    merged.push(index, count.saturating_add(other_count));
                    (left, right) = (left_iter.next(), right_iter.next());
                }
            }
        }
        left.into_iter().chain(left_iter).for_each(|(index, count)| merged.push(index, count));
        right.into_iter().chain(right_iter).for_each(|(index, count)| merged.push(index, count));
        *self = merged.build();
    }
}

impl FromIterator<(usize, u64)> for PackedBuckets {
    /// Indices must ascend, and counts be above zero.
    fn from_iter<I: IntoIterator<Item = (usize, u64)>>(counts: I) -> Self {
        let mut builder = PackedBuilder::with_capacity(TYPICAL_BYTES);
        counts.into_iter().for_each(|(index, count)| builder.push(index, count));
        builder.build()
    }
}

/// Initial capacity in bytes, enough for most histograms.
const TYPICAL_BYTES: usize = 256;

/// Builds [`PackedBuckets`] from ascending counts.
#[derive(Debug, Default)]
pub struct PackedBuilder {
    encoded: Vec<u8>,
    /// Index after the last one added.
    next: usize,
}

impl PackedBuilder {
    /// Allocates `bytes` at once.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { encoded: Vec::with_capacity(bytes), next: 0 }
    }

    /// Adds the count, above zero, of a bucket after all previous ones.
    #[inline]
    pub fn push(&mut self, index: usize, count: u64) {
        match index.saturating_sub(self.next) {
            0 => {}
            1 => put_word(&mut self.encoded, 0),
            empty => put_word(&mut self.encoded, i64::try_from(empty).map_or(-i64::MAX, i64::wrapping_neg)),
        }
        put_word(&mut self.encoded, i64::try_from(count).unwrap_or(i64::MAX));
        self.next = index.saturating_add(1);
    }

    /// Finishes.
    pub fn build(self) -> PackedBuckets {
        PackedBuckets { encoded: self.encoded.into() }
    }
}

/// Indices and counts, ascending.
#[derive(Clone, Debug)]
pub struct PackedIter<'a> {
    rest: &'a [u8],
    next: usize,
}

impl Iterator for PackedIter<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        loop {
            let (word, length) = first_word(self.rest)?;
            self.rest = &self.rest[length..];
            let index = self.next;
            if word > 0 {
                self.next = index.checked_add(1)?;
                return Some((index, word.unsigned_abs()));
            }
            let empty = usize::try_from(word.unsigned_abs()).unwrap_or(usize::MAX);
            self.next = index.checked_add(empty.max(1))?;
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    fn any_counts() -> impl Strategy<Value = BTreeMap<usize, u64>> {
        proptest::collection::btree_map(0..3_000_usize, 1..1_u64 << 53, 0..60)
    }

    #[test]
    fn places_beyond_the_last_end_it() {
        let mut encoded = Vec::new();
        [3, i64::MIN, i64::MIN, i64::MIN, 5, 7].into_iter().for_each(|word| put_word(&mut encoded, word));
        let hostile = PackedBuckets { encoded: encoded.into() };
        assert_eq!(hostile.iter().collect::<Vec<_>>(), [(0, 3)]);
        let mut merged = hostile.clone();
        merged.merge(&hostile);
        assert_eq!(merged.iter().collect::<Vec<_>>(), [(0, 6)]);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_what_comes_out(counts in any_counts()) {
            let packed: PackedBuckets = counts.clone().into_iter().collect();
            prop_assert_eq!(packed.is_empty(), counts.is_empty());
            prop_assert_eq!(packed.iter().collect::<BTreeMap<_, _>>(), counts);
        }

        #[test]
        fn merging_adds_place_by_place(first in any_counts(), other in any_counts()) {
            let mut all = first.clone();
            other.iter().for_each(|(index, count)| *all.entry(*index).or_default() += count);
            let (mut merged, other): (PackedBuckets, PackedBuckets) = (first.into_iter().collect(), other.into_iter().collect());
            merged.merge(&other);
            prop_assert_eq!(merged, all.into_iter().collect::<PackedBuckets>());
        }
    }
}
