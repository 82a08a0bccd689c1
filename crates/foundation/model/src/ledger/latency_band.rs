//! Wake-ups of about the same lateness: edges that are a quarter apart at most.

use std::collections::BTreeMap;

use super::{CauseShare, OTHERS};
use crate::Cause;

/// Wake-ups of about the same lateness.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) count: u64,
    pub(super) total: u64,
    pub(super) causes: BTreeMap<Cause, CauseShare>,
}

impl Slice {
    /// The cause under which to count; a new one needs room.
    pub(super) fn place_of(&self, cause: Cause, room: bool) -> Cause {
        if room || cause.name.is_empty() || self.causes.contains_key(&cause) {
            return cause;
        }
        Cause { name: OTHERS.to_owned(), ..cause }
    }

    pub(super) fn enter(&mut self, cause: Cause, share: CauseShare) {
        match self.causes.get_mut(&cause) {
            Some(known) => known.add(&share),
            None => drop(self.causes.insert(cause, share)),
        }
    }

    pub(super) fn merge(&mut self, other: &Self, room: bool) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
        for (cause, share) in &other.causes {
            self.enter(self.place_of(cause.clone(), room), *share);
        }
    }
}

/// Lateness below this shares one slice.
const FIRST_EDGE: u64 = 1_024;
/// log2 of the slices per doubling: an edge is at most a quarter away.
const BITS: u32 = 2;

/// Which slice a lateness belongs to.
#[allow(clippy::cast_possible_truncation, clippy::arithmetic_side_effects, reason = "at most 64 · 4 slices")]
pub(super) const fn slice_of(nanos: u64) -> u16 {
    if nanos < FIRST_EDGE {
        return 0;
    }
    let doubling = nanos.ilog2() - FIRST_EDGE.ilog2();
    let quarter = (nanos >> (nanos.ilog2() - BITS)) & ((1 << BITS) - 1);
    ((doubling << BITS) as u16) + quarter as u16 + 1
}

/// The least lateness of a slice that [`slice_of`] has named.
#[allow(clippy::arithmetic_side_effects, reason = "at most 64 · 4 slices")]
pub(super) const fn lower_edge(slice: u16) -> u64 {
    if slice == 0 {
        return 0;
    }
    let (doubling, quarter) = ((slice - 1) >> BITS, (slice - 1) & ((1 << BITS) - 1));
    ((1 << BITS) + quarter as u64) << (doubling as u32 + FIRST_EDGE.ilog2() - BITS)
}
