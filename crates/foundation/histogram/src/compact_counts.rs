//! Counts of places in as little room as they need: a byte or two for each place that is not empty.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

use std::cmp::Ordering;
use std::sync::Arc;

use crate::varint::{first_word, put_word};

/// Counts of places, of which those that are empty take no room. They can be read and added, but not changed one by one;
/// copies share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    words: Arc<[u8]>,
}

impl Packed {
    /// As `HdrHistogram` writes them.
    pub fn words(&self) -> &[u8] {
        &self.words
    }

    /// Whether no place has a count.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Places and counts, ascending.
    pub fn iter(&self) -> Places<'_> {
        Places { rest: &self.words, next: 0 }
    }

    /// Counts all of `other` too.
    pub fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            return self.clone_from(other);
        }
        if other.is_empty() {
            return;
        }
        let mut both = Packing::with_room(self.words.len().saturating_add(other.words.len()));
        let (mut mine, mut others) = (self.iter(), other.iter());
        let (mut one, mut another) = (mine.next(), others.next());
        while let (Some((place, count)), Some((other_place, more))) = (one, another) {
            match place.cmp(&other_place) {
                Ordering::Less => {
                    both.push(place, count);
                    one = mine.next();
                }
                Ordering::Greater => {
                    both.push(other_place, more);
                    another = others.next();
                }
                Ordering::Equal => {
                    both.push(place, count.saturating_add(more));
                    (one, another) = (mine.next(), others.next());
                }
            }
        }
        one.into_iter().chain(mine).for_each(|(place, count)| both.push(place, count));
        another.into_iter().chain(others).for_each(|(place, count)| both.push(place, count));
        *self = both.packed();
    }
}

impl FromIterator<(usize, u64)> for Packed {
    /// Of places that ascend, with counts above zero.
    fn from_iter<I: IntoIterator<Item = (usize, u64)>>(counts: I) -> Self {
        let mut packing = Packing::with_room(USUAL);
        counts.into_iter().for_each(|(place, count)| packing.push(place, count));
        packing.packed()
    }
}

/// Bytes that most take at most: room for more is found on the way.
const USUAL: usize = 256;

/// Counts that are being packed.
#[derive(Debug, Default)]
pub struct Packing {
    words: Vec<u8>,
    /// The place after the last.
    next: usize,
}

impl Packing {
    /// With room for so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        Self { words: Vec::with_capacity(bytes), next: 0 }
    }

    /// The count, above zero, of a place after all before.
    #[inline]
    pub fn push(&mut self, place: usize, count: u64) {
        match place.saturating_sub(self.next) {
            0 => {}
            1 => put_word(&mut self.words, 0),
            empty => put_word(&mut self.words, i64::try_from(empty).map_or(-i64::MAX, i64::wrapping_neg)),
        }
        put_word(&mut self.words, i64::try_from(count).unwrap_or(i64::MAX));
        self.next = place.saturating_add(1);
    }

    /// All of them.
    pub fn packed(self) -> Packed {
        Packed { words: self.words.into() }
    }
}

/// Places and counts, ascending.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    rest: &'a [u8],
    next: usize,
}

impl Iterator for Places<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        loop {
            let (word, length) = first_word(self.rest)?;
            self.rest = &self.rest[length..];
            let place = self.next;
            if word > 0 {
                self.next = place.checked_add(1)?;
                return Some((place, word.unsigned_abs()));
            }
            let empty = usize::try_from(word.unsigned_abs()).unwrap_or(usize::MAX);
            self.next = place.checked_add(empty.max(1))?;
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    fn some() -> impl Strategy<Value = BTreeMap<usize, u64>> {
        proptest::collection::btree_map(0..3_000_usize, 1..1_u64 << 53, 0..60)
    }

    #[test]
    fn places_beyond_the_last_end_it() {
        let mut words = Vec::new();
        [3, i64::MIN, i64::MIN, i64::MIN, 5, 7].into_iter().for_each(|word| put_word(&mut words, word));
        let hostile = Packed { words: words.into() };
        assert_eq!(hostile.iter().collect::<Vec<_>>(), [(0, 3)]);
        let mut merged = hostile.clone();
        merged.merge(&hostile);
        assert_eq!(merged.iter().collect::<Vec<_>>(), [(0, 6)]);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_what_comes_out(counts in some()) {
            let packed: Packed = counts.clone().into_iter().collect();
            prop_assert_eq!(packed.is_empty(), counts.is_empty());
            prop_assert_eq!(packed.iter().collect::<BTreeMap<_, _>>(), counts);
        }

        #[test]
        fn merging_adds_place_by_place(one in some(), other in some()) {
            let mut all = one.clone();
            other.iter().for_each(|(place, count)| *all.entry(*place).or_default() += count);
            let (mut merged, other): (Packed, Packed) = (one.into_iter().collect(), other.into_iter().collect());
            merged.merge(&other);
            prop_assert_eq!(merged, all.into_iter().collect::<Packed>());
        }
    }
}
