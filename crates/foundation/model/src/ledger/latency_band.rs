//! Latency bands: ranges of latency whose edges are at most a quarter apart.

use std::collections::BTreeMap;

use super::{CauseShare, OTHERS};
use crate::Cause;

/// Wake-ups in one latency band.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LatencyBand {
    pub(super) count: u64,
    pub(super) total: u64,
    pub(super) causes: BTreeMap<Cause, CauseShare>,
}

impl LatencyBand {
    /// The cause under which to count: itself, or [`OTHERS`] if it is new and there is no room.
    pub(super) fn entry_for(&self, cause: Cause, room: bool) -> Cause {
        if room || cause.name.is_empty() || self.causes.contains_key(&cause) {
            return cause;
        }
        Cause { name: OTHERS.to_owned(), ..cause }
    }

    pub(super) fn enter(&mut self, cause: Cause, share: CauseShare) {
        match self.causes.get_mut(&cause) {
            Some(sum) => sum.add(&share),
            None => drop(self.causes.insert(cause, share)),
        }
    }

    pub(super) fn merge(&mut self, other: &Self, room: bool) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
        for (cause, share) in &other.causes {
            self.enter(self.entry_for(cause.clone(), room), *share);
        }
    }
}

/// Latencies below this share one band.
const FIRST_EDGE: u64 = 1_024;
/// log2 of the bands per doubling.
const BITS: u32 = 2;

/// Number of a latency's band.
#[allow(clippy::cast_possible_truncation, clippy::arithmetic_side_effects, reason = "at most 64 · 4 bands")]
pub(super) const fn band_of(nanos: u64) -> u16 {
    if nanos < FIRST_EDGE {
        return 0;
    }
    let doubling = nanos.ilog2() - FIRST_EDGE.ilog2();
    let quarter = (nanos >> (nanos.ilog2() - BITS)) & ((1 << BITS) - 1);
    ((doubling << BITS) as u16) + quarter as u16 + 1
}

/// Lowest latency of a band.
#[allow(clippy::arithmetic_side_effects, reason = "at most 64 · 4 bands")]
pub(super) const fn lower_edge(band: u16) -> u64 {
    if band == 0 {
        return 0;
    }
    let (doubling, quarter) = ((band - 1) >> BITS, (band - 1) & ((1 << BITS) - 1));
    ((1 << BITS) + quarter as u64) << (doubling as u32 + FIRST_EDGE.ilog2() - BITS)
}
