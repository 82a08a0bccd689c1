//! Serialised form of a ledger.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latency_band::{LatencyBand, band_of, lower_edge};
use super::{CauseShare, Ledger, Pid, UndecomposedReason};
use crate::{Cause, CauseKind, Distribution, Part, Span, WakeupBreakdown};

/// A ledger as recordings hold it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stored")]
pub(super) struct StoredLedger {
    decomposed: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    not_decomposed: BTreeMap<UndecomposedReason, u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_events: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    clamped: u64,
    latency: Distribution,
    parts: BTreeMap<Part, Distribution>,
    /// What the shares below refer to by index.
    causes: Vec<Cause>,
    late: Vec<StoredBand>,
    worst: Vec<WakeupBreakdown>,
}

/// Wake-ups of about the same lateness.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StoredSlice")]
struct StoredBand {
    /// At least this late, and less than the next possible slice: 1024 ns, then four per doubling.
    above_ns: u64,
    count: u64,
    total_ns: u64,
    /// Per cause: index, nanoseconds, wake-ups, the most in one of them, thread id (absent: none, 0: several).
    shares: Vec<(u32, u64, u64, Span, Option<u32>)>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Ledger> for StoredLedger {
    fn from(from: Ledger) -> Self {
        let mut indices: BTreeMap<Cause, u32> = BTreeMap::new();
        let mut causes = Vec::new();
        let late = from
            .bands
            .into_iter()
            .map(|(number, band)| StoredBand {
                above_ns: lower_edge(number),
                count: band.count,
                total_ns: band.total,
                shares: band
                    .causes
                    .into_iter()
                    .map(|(cause, share)| {
                        let index = *indices.entry(cause).or_insert_with_key(|cause| {
                            let index = u32::try_from(causes.len()).unwrap_or(u32::MAX);
                            causes.push(cause.clone());
                            index
                        });
                        (index, share.total, share.wakeups, share.max, stored_pid(share.pid))
                    })
                    .collect(),
            })
            .collect();
        Self {
            decomposed: from.decomposed,
            not_decomposed: from.not_decomposed,
            lost_events: from.lost_events,
            clamped: from.clamped,
            latency: from.latency,
            parts: from.parts,
            causes,
            late,
            worst: from.worst,
        }
    }
}

const fn stored_pid(pid: Pid) -> Option<u32> {
    match pid {
        Pid::None => None,
        Pid::One(pid) => Some(pid),
        Pid::Several => Some(0),
    }
}

const fn read_pid(pid: Option<u32>) -> Pid {
    match pid {
        None => Pid::None,
        Some(0) => Pid::Several,
        Some(pid) => Pid::One(pid),
    }
}

impl From<StoredLedger> for Ledger {
    /// A share that refers to a cause that is not there can only be damage: it is counted as unexplained.
    fn from(stored: StoredLedger) -> Self {
        let unknown = Cause::new(Part::NotSeen, CauseKind::Unexplained, String::new());
        let mut bands: BTreeMap<u16, LatencyBand> = BTreeMap::new();
        for entry in stored.late {
            let band = bands.entry(band_of(entry.above_ns)).or_default();
            band.count = band.count.saturating_add(entry.count);
            band.total = band.total.saturating_add(entry.total_ns);
            for (index, total, wakeups, max, pid) in entry.shares {
                let cause = stored.causes.get(index as usize).unwrap_or(&unknown).clone();
                band.enter(cause, CauseShare { total, wakeups, max, pid: read_pid(pid) });
            }
        }
        Self {
            decomposed: stored.decomposed,
            not_decomposed: stored.not_decomposed,
            lost_events: stored.lost_events,
            clamped: stored.clamped,
            latency: stored.latency,
            parts: stored.parts,
            bands,
            worst: stored.worst,
        }
    }
}
