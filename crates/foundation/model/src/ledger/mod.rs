//! Causes of lateness, summed per latency band.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

mod latency_band;
mod share;
mod stored;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::latency_band::{LatencyBand, band_of, lower_edge};
pub use self::share::{CauseShare, Pid};
use self::stored::StoredLedger;
use crate::{
    Cause, CauseKind, Distribution, Latency, MonotonicTime, Part, Span, WORST_KEPT, WakeupBreakdown,
};

/// Entries by cause and latency band at most; beyond them, new names of the same part and kind share one entry.
pub const ENTRIES_KEPT: usize = 4_096;

/// Name of the shared entry for causes beyond [`ENTRIES_KEPT`].
pub const OTHERS: &str = "(others)";

/// Wake-ups by how late they were, and what made them so. Constant memory; adding up loses nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredLedger", into = "StoredLedger")]
#[schemars(with = "StoredLedger")]
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
    bands: BTreeMap<u16, LatencyBand>,
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
    /// It is no wake-up but an iteration, and among the nine tenths that took least: of many, only the longest are decomposed.
    Short,
}

/// Causes of all wake-ups above some latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LateCauses {
    /// Lowest latency counted.
    pub above: Span,
    /// Number of wake-ups.
    pub count: u64,
    /// Sum of their latencies, nanoseconds.
    pub total: u64,
    pub causes: BTreeMap<Cause, CauseShare>,
}

impl Ledger {
    /// Counts a decomposed wake-up.
    pub fn add(&mut self, wakeup: &WakeupBreakdown) {
        self.decomposed = self.decomposed.saturating_add(1);
        self.latency.record(wakeup.latency);
        let mut of_part: BTreeMap<Part, u64> = BTreeMap::new();
        for segment in &wakeup.parts {
            let all = of_part.entry(segment.cause.part).or_default();
            *all = all.saturating_add(segment.ns.as_nanos());
        }
        for (part, nanos) in of_part {
            self.parts.entry(part).or_default().record(latency(nanos));
        }
        self.enter(wakeup.latency, wakeup);
        self.keep_worst(wakeup);
    }

    /// Counts a wake-up that was not decomposed. All its lateness is unexplained.
    pub fn add_undecomposed(&mut self, late: Latency, why: UndecomposedReason) {
        count(self.not_decomposed.entry(why).or_default(), 1);
        self.latency.record(late);
        let nanos = late.as_nanos().max(0).unsigned_abs();
        let band = self.bands.entry(band_of(nanos)).or_default();
        band.count = band.count.saturating_add(1);
        band.total = band.total.saturating_add(nanos);
        let cause = Cause::new(Part::NotSeen, CauseKind::Unexplained, String::new());
        let share = CauseShare { total: nanos, wakeups: 1, max: Span::from_nanos(nanos), pid: Pid::None };
        band.enter(cause, share);
    }

    fn enter(&mut self, late: Latency, wakeup: &WakeupBreakdown) {
        let nanos = late.as_nanos().max(0).unsigned_abs();
        let mut shares: BTreeMap<Cause, CauseShare> = BTreeMap::new();
        for segment in &wakeup.parts {
            let share = CauseShare {
                total: segment.ns.as_nanos(),
                wakeups: 1,
                max: segment.ns,
                pid: segment.pid.into(),
            };
            match shares.get_mut(&segment.cause) {
                Some(sum) => sum.add_segment(&share),
                None => drop(shares.insert(segment.cause.clone(), share)),
            }
        }
        let room = self.entries() < ENTRIES_KEPT;
        let band = self.bands.entry(band_of(nanos)).or_default();
        band.count = band.count.saturating_add(1);
        band.total = band.total.saturating_add(nanos);
        for (cause, share) in shares {
            band.enter(band.entry_for(cause, room), share);
        }
    }

    fn entries(&self) -> usize {
        self.bands.values().map(|band| band.causes.len()).sum()
    }

    fn keep_worst(&mut self, wakeup: &WakeupBreakdown) {
        if self.worst.get(WORST_KEPT - 1).is_some_and(|least| least.latency >= wakeup.latency) {
            return;
        }
        let place = self.worst.partition_point(|other| other.latency >= wakeup.latency);
        self.worst.insert(place, wakeup.clone());
        self.worst.truncate(WORST_KEPT);
    }

    /// Adds the ledger of another block, turn or machine.
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
        for (late, band) in &other.bands {
            let room = self.entries() < ENTRIES_KEPT;
            self.bands.entry(*late).or_default().merge(band, room);
        }
        other.worst.iter().for_each(|wakeup| self.keep_worst(wakeup));
    }

    /// Applies `shift` to the times of all stored wake-ups.
    pub fn shift(&mut self, mut shift: impl FnMut(&mut MonotonicTime)) {
        for wakeup in &mut self.worst {
            shift(&mut wakeup.at);
            wakeup.parts.iter_mut().for_each(|part| shift(&mut part.from));
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.latency.is_empty() && self.lost_events == 0
    }

    /// Number of wake-ups that were not decomposed.
    pub fn undecomposed(&self) -> u64 {
        self.not_decomposed.values().fold(0, |all, count| all.saturating_add(*count))
    }

    /// Duration of each part, over the wake-ups that have it.
    pub const fn parts(&self) -> &BTreeMap<Part, Distribution> {
        &self.parts
    }

    /// The worst wake-ups, the worst first.
    pub fn worst(&self) -> &[WakeupBreakdown] {
        &self.worst
    }

    /// Causes of the wake-ups above about `above`: from the next lower band edge.
    pub fn late_causes(&self, above: Span) -> LateCauses {
        self.causes_from(band_of(above.as_nanos()))
    }

    /// Causes of the slowest: of whole bands from the highest one down, until they hold 1 % of all. A band beyond the first that would make
    /// them more than 5 % is left out.
    pub fn slowest(&self) -> LateCauses {
        let all = self.bands.values().fold(0u64, |all, band| all.saturating_add(band.count));
        let is_share =
            |count: u64, of_hundred: u64| count.saturating_mul(100) >= all.saturating_mul(of_hundred);
        let (mut first, mut count) = (None, 0u64);
        for (number, band) in self.bands.iter().rev() {
            count = count.saturating_add(band.count);
            if first.is_some() && is_share(count, 5) {
                break;
            }
            first = Some(*number);
            if is_share(count, 1) {
                break;
            }
        }
        self.causes_from(first.unwrap_or_default())
    }

    fn causes_from(&self, first: u16) -> LateCauses {
        let mut late = LateCauses { above: Span::from_nanos(lower_edge(first)), ..LateCauses::default() };
        for band in self.bands.range(first..).map(|(_, band)| band) {
            late.count = late.count.saturating_add(band.count);
            late.total = late.total.saturating_add(band.total);
            for (cause, share) in &band.causes {
                match late.causes.get_mut(cause) {
                    Some(sum) => sum.add(share),
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
