//! Exact values from imported files, beside the buckets that count them.

use std::collections::BTreeMap;

use howlate_histogram::Buckets;

use super::tracked;
use crate::Span;

/// Memory of one bucket's entry, bytes, with its share of the tree's nodes.
const ENTRY_BYTES: usize = 96;

/// Distinct values per bucket that are counted individually: as many as three decimal digits have where two have one.
const MOST_VALUES: usize = 8;

/// The values in each bucket, and how much less or more than printed each may have been. Percentiles of an imported file are its
/// own numbers rather than bucket ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PrintedValues {
    /// Key: lowest value of the bucket.
    values: BTreeMap<u64, BucketValues>,
    /// How much less, and how much more, than printed a value may have been, if more than its last digit.
    width: (Span, Span),
}

/// The values of a bucket.
#[derive(Clone, Debug, PartialEq)]
enum BucketValues {
    /// Each with its count, ascending.
    Each(Vec<(i64, u64)>),
    /// Too many to count each: the smallest and the largest.
    Between(i64, i64),
}

impl BucketValues {
    fn ends(&self) -> (i64, i64) {
        match self {
            Self::Each(values) => {
                let end = |value: Option<&(i64, u64)>| value.map_or(0, |value| value.0);
                (end(values.first()), end(values.last()))
            }
            Self::Between(least, most) => (*least, *most),
        }
    }

    fn add(&mut self, nanos: i64, n: u64) {
        if let Self::Each(values) = self {
            match values.binary_search_by_key(&nanos, |value| value.0) {
                Ok(place) => return values[place].1 = values[place].1.saturating_add(n),
                Err(place) if values.len() < MOST_VALUES => return values.insert(place, (nanos, n)),
                Err(_) => {}
            }
        }
        let (least, most) = self.ends();
        *self = Self::Between(least.min(nanos), most.max(nanos));
    }

    fn merge(&mut self, other: &Self) {
        match other {
            Self::Each(values) => values.iter().for_each(|(nanos, n)| self.add(*nanos, *n)),
            Self::Between(low, high) => {
                let (least, most) = self.ends();
                *self = Self::Between(least.min(*low), most.max(*high));
            }
        }
    }

    /// Bounds of the value with this rank (from 1) in the bucket.
    fn at(&self, rank: u64) -> (i64, i64) {
        let Self::Each(values) = self else { return self.ends() };
        let mut below = 0_u64;
        let found = values.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= rank
        });
        found.map_or_else(|| self.ends(), |(value, _)| (*value, *value))
    }
}

impl PrintedValues {
    pub(super) fn add(&mut self, nanos: i64, n: u64) {
        let place = Buckets::lowest_equivalent(tracked(nanos));
        self.values.entry(place).or_insert_with(|| BucketValues::Each(Vec::new())).add(nanos, n);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (place, values) in &other.values {
            self.values.entry(*place).or_insert_with(|| BucketValues::Each(Vec::new())).merge(values);
        }
        let ((below, above), (other_below, other_above)) = (self.width, other.width);
        self.width = (below.max(other_below), above.max(other_above));
    }

    /// Bounds of the value with this rank (from 1) in a bucket; `None` if no value of it was printed.
    pub(super) fn at(&self, bucket: u64, rank: u64) -> Option<(i64, i64)> {
        self.values.get(&bucket).map(|values| values.at(rank))
    }

    /// The values of a bucket that has `count` in all, with their counts.
    pub(super) fn values_in(&self, bucket: u64, count: u64) -> Vec<(i64, u64)> {
        match self.values.get(&bucket) {
            Some(BucketValues::Each(values)) => values.clone(),
            Some(BucketValues::Between(_, most)) => vec![(*most, count)],
            None => Vec::new(),
        }
    }

    pub(super) const fn set_width(&mut self, width: (Span, Span)) {
        self.width = width;
    }

    pub(super) const fn width(&self) -> (Span, Span) {
        self.width
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.values.len().saturating_mul(ENTRY_BYTES)
    }
}
