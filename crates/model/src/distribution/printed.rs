//! Values as a file prints them, beside the buckets that they are counted in.

use std::collections::BTreeMap;

use howlate_histogram::Buckets;

use super::tracked;
use crate::Span;

/// Bytes that one bucket takes, with its share of a tree's nodes.
const ENTRY: usize = 40;

/// Which values of each bucket were counted, and how much more than printed each may have been: percentiles of a file are its
/// numbers, and not the ends of buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Printed {
    /// The smallest and the largest value counted in a bucket, by the bucket's lowest.
    values: BTreeMap<u64, (i64, i64)>,
    /// How much less than printed a value may have been, and how much more, where that is more than its last digit.
    width: (Span, Span),
}

impl Printed {
    pub(super) fn add(&mut self, nanos: i64) {
        let place = Buckets::lowest_alike(tracked(nanos));
        let (least, most) = self.values.entry(place).or_insert((nanos, nanos));
        (*least, *most) = ((*least).min(nanos), (*most).max(nanos));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (place, (low, high)) in &other.values {
            let (least, most) = self.values.entry(*place).or_insert((*low, *high));
            (*least, *most) = ((*least).min(*low), (*most).max(*high));
        }
        let ((below, above), (other_below, other_above)) = (self.width, other.width);
        self.width = (below.max(other_below), above.max(other_above));
    }

    /// The smallest and the largest value counted in the bucket of `value`.
    pub(super) fn around(&self, value: u64) -> Option<(i64, i64)> {
        self.values.get(&Buckets::lowest_alike(value)).copied()
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
