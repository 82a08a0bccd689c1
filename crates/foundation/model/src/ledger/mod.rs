//! The causes of lateness, added up.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

mod latency_band;
mod share;
mod stored;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::latency_band::{Slice, lower_edge, slice_of};
pub use self::share::{CauseShare, Pid};
use self::stored::Stored;
use crate::{
    Cause, CauseKind, Distribution, Latency, MonotonicTime, Part, Span, WORST_KEPT, WakeupBreakdown,
};

/// Entries of causes by lateness that are kept apart; when there are more, new names of the same part and
/// kind share one entry.
pub const ENTRIES_KEPT: usize = 4_096;

/// The name under which causes are counted that found no place of their own.
pub const OTHERS: &str = "(others)";

/// Wake-ups by how late they were, and what made them so. Constant memory; adding up loses nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Stored", into = "Stored")]
#[schemars(with = "Stored")]
pub struct Ledger {
    /// Wake-ups whose parts are known.
    pub decomposed: u64,
    /// Wake-ups whose parts are not, by the reason.
    pub not_decomposed: BTreeMap<UndecomposedReason, u64>,
    /// Events that the tracer lost.
    pub lost_events: u64,
    /// Readings out of order that had to be moved into place.
    pub clamped: u64,
    /// How late all of them were, decomposed or not.
    pub latency: Distribution,
    parts: BTreeMap<Part, Distribution>,
    slices: BTreeMap<u16, Slice>,
    worst: Vec<WakeupBreakdown>,
}

/// Why the wake-ups of one thread in one stretch of time were late. The stretch belongs to a turn of its own, taken
/// beside one that was not traced: its latencies are in here and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WhyBlock")]
pub struct CauseBlock {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Which of the condition's turns this is; no other turn has this number.
    pub round: u32,
    /// The turn without tracing that it is to be compared with.
    pub beside: u32,
    /// When the stretch began.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// When the stretch ended.
    #[serde(rename = "until_ns")]
    pub until: MonotonicTime,
    /// What saw it: `bpf`, `tracefs` or `switches`.
    pub tracer: String,
    /// The causes, added up.
    pub ledger: Ledger,
}

/// Why the parts of a wake-up are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NotDecomposed")]
pub enum UndecomposedReason {
    /// The tracer has nothing on it.
    NotSeen,
    /// Events were lost around it.
    LostEvents,
}

/// Late wake-ups, and what made them so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LateCauses {
    /// They were at least this late.
    pub above: Span,
    /// Wake-ups of this lateness.
    pub count: u64,
    /// Their lateness together, in nanoseconds.
    pub total: u64,
    /// What each cause contributed.
    pub causes: BTreeMap<Cause, CauseShare>,
}

impl Ledger {
    /// Counts a wake-up whose parts are known.
    pub fn add(&mut self, one: &WakeupBreakdown) {
        self.decomposed = self.decomposed.saturating_add(1);
        self.latency.record(one.latency);
        let mut of_part: BTreeMap<Part, u64> = BTreeMap::new();
        for segment in &one.parts {
            let all = of_part.entry(segment.cause.part).or_default();
            *all = all.saturating_add(segment.ns.as_nanos());
        }
        for (part, nanos) in of_part {
            self.parts.entry(part).or_default().record(latency(nanos));
        }
        self.enter(one.latency, one);
        self.keep_worst(one);
    }

    /// Counts a wake-up whose parts are not known. All its lateness is unexplained.
    pub fn add_unknown(&mut self, late: Latency, why: UndecomposedReason) {
        count(self.not_decomposed.entry(why).or_default(), 1);
        self.latency.record(late);
        let nanos = late.as_nanos().max(0).unsigned_abs();
        let slice = self.slices.entry(slice_of(nanos)).or_default();
        slice.count = slice.count.saturating_add(1);
        slice.total = slice.total.saturating_add(nanos);
        let cause = Cause::new(Part::NotSeen, CauseKind::Unexplained, String::new());
        let share = CauseShare { total: nanos, wakeups: 1, max: Span::from_nanos(nanos), pid: Pid::None };
        slice.enter(cause, share);
    }

    fn enter(&mut self, late: Latency, one: &WakeupBreakdown) {
        let nanos = late.as_nanos().max(0).unsigned_abs();
        let mut shares: BTreeMap<Cause, CauseShare> = BTreeMap::new();
        for segment in &one.parts {
            let share = CauseShare {
                total: segment.ns.as_nanos(),
                wakeups: 1,
                max: segment.ns,
                pid: segment.pid.into(),
            };
            match shares.get_mut(&segment.cause) {
                Some(known) => known.again(&share),
                None => drop(shares.insert(segment.cause.clone(), share)),
            }
        }
        let room = self.entries() < ENTRIES_KEPT;
        let slice = self.slices.entry(slice_of(nanos)).or_default();
        slice.count = slice.count.saturating_add(1);
        slice.total = slice.total.saturating_add(nanos);
        for (cause, share) in shares {
            slice.enter(slice.place_of(cause, room), share);
        }
    }

    /// How many entries there are.
    fn entries(&self) -> usize {
        self.slices.values().map(|slice| slice.causes.len()).sum()
    }

    fn keep_worst(&mut self, one: &WakeupBreakdown) {
        if self.worst.get(WORST_KEPT - 1).is_some_and(|least| least.latency >= one.latency) {
            return;
        }
        let place = self.worst.partition_point(|other| other.latency >= one.latency);
        self.worst.insert(place, one.clone());
        self.worst.truncate(WORST_KEPT);
    }

    /// Adds what another stretch, turn or machine found.
    pub fn merge(&mut self, other: &Self) {
        self.decomposed = self.decomposed.saturating_add(other.decomposed);
        self.lost_events = self.lost_events.saturating_add(other.lost_events);
        self.clamped = self.clamped.saturating_add(other.clamped);
        self.latency.merge(&other.latency);
        for (why, count) in &other.not_decomposed {
            self::count(self.not_decomposed.entry(*why).or_default(), *count);
        }
        for (part, distribution) in &other.parts {
            self.parts.entry(*part).or_default().merge(distribution);
        }
        for (late, slice) in &other.slices {
            let room = self.entries() < ENTRIES_KEPT;
            self.slices.entry(*late).or_default().merge(slice, room);
        }
        other.worst.iter().for_each(|one| self.keep_worst(one));
    }

    /// Moves the times of all wake-ups.
    pub fn shift(&mut self, mut shift: impl FnMut(&mut MonotonicTime)) {
        for one in &mut self.worst {
            shift(&mut one.at);
            one.parts.iter_mut().for_each(|part| shift(&mut part.from));
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.latency.is_empty() && self.lost_events == 0
    }

    /// How many wake-ups' parts are not known.
    pub fn unknown(&self) -> u64 {
        self.not_decomposed.values().fold(0, |all, count| all.saturating_add(*count))
    }

    /// How long each part took, of the wake-ups that had it.
    pub const fn parts(&self) -> &BTreeMap<Part, Distribution> {
        &self.parts
    }

    /// The worst wake-ups, the worst first.
    pub fn worst(&self) -> &[WakeupBreakdown] {
        &self.worst
    }

    /// The wake-ups that were at least about `above` late: from the next lower edge on that the ledger has.
    pub fn late(&self, above: Span) -> LateCauses {
        let first = slice_of(above.as_nanos());
        let mut late = LateCauses { above: Span::from_nanos(lower_edge(first)), ..LateCauses::default() };
        for slice in self.slices.range(first..).map(|(_, slice)| slice) {
            late.count = late.count.saturating_add(slice.count);
            late.total = late.total.saturating_add(slice.total);
            for (cause, share) in &slice.causes {
                match late.causes.get_mut(cause) {
                    Some(known) => known.add(share),
                    None => drop(late.causes.insert(cause.clone(), *share)),
                }
            }
        }
        late
    }
}

fn count(all: &mut u64, more: u64) {
    *all = all.saturating_add(more);
}

fn latency(nanos: u64) -> Latency {
    Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;
