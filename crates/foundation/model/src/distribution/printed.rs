//! Values as a file prints them, beside the buckets that they are counted in.

use std::collections::BTreeMap;

use howlate_histogram::Buckets;

use super::tracked;
use crate::Span;

/// Bytes that one bucket takes, with its share of a tree's nodes and its values.
const ENTRY: usize = 96;

/// Values that are counted one by one in a bucket: as many as three decimal digits have where two have one.
const MOST_VALUES: usize = 8;

/// Which values of each bucket were counted, and how much less or more than printed each may have been: percentiles of a file
/// are its numbers, and not the ends of buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Printed {
    /// By the bucket's lowest.
    values: BTreeMap<u64, Values>,
    /// How much less than printed a value may have been, and how much more, where that is more than its last digit.
    width: (Span, Span),
}

/// The values of a bucket.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Each with its count, ascending.
    Each(Vec<(i64, u64)>),
    /// Too many to count each: the smallest and the largest.
    Between(i64, i64),
}

impl Values {
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

    /// The smallest and the largest that the value `rank` (from 1) of the bucket may be.
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

impl Printed {
    pub(super) fn add(&mut self, nanos: i64, n: u64) {
        let place = Buckets::lowest_alike(tracked(nanos));
        self.values.entry(place).or_insert_with(|| Values::Each(Vec::new())).add(nanos, n);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (place, values) in &other.values {
            self.values.entry(*place).or_insert_with(|| Values::Each(Vec::new())).merge(values);
        }
        let ((below, above), (other_below, other_above)) = (self.width, other.width);
        self.width = (below.max(other_below), above.max(other_above));
    }

    /// The smallest and the largest that the value `rank` (from 1) of a bucket may be; `None` where none of it was printed.
    pub(super) fn at(&self, bucket: u64, rank: u64) -> Option<(i64, i64)> {
        self.values.get(&bucket).map(|values| values.at(rank))
    }

    /// The values of a bucket with their counts, of which it has `count`.
    pub(super) fn of(&self, bucket: u64, count: u64) -> Vec<(i64, u64)> {
        match self.values.get(&bucket) {
            Some(Values::Each(values)) => values.clone(),
            Some(Values::Between(_, most)) => vec![(*most, count)],
            None => Vec::new(),
        }
    }

    pub(super) const fn set_width(&mut self, width: (Span, Span)) {
        self.width = width;
    }

    pub(super) const fn width(&self) -> (Span, Span) {
        self.width
    }

    pub(super) fn room(&self) -> usize {
        self.values.len().saturating_mul(ENTRY)
    }
}
