//! What a load achieved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, MonotonicTime, Span};

/// What one part of a load did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartEffect {
    /// The part, as typed.
    pub part: String,
    /// The CPUs it was bound to, read back.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub cpus: CpuSet,
    /// What its operations are, in the plural; absent where they cannot be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How many it did; absent where they cannot be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// CPU time it got, all its threads and processes together; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "cpu_ns")]
    pub cpu: Option<Span>,
}

impl PartEffect {
    /// Adds the same part's effect in another block.
    pub fn add(&mut self, other: &Self) {
        self.operations = both(self.operations, other.operations, u64::saturating_add);
        self.cpu = both(self.cpu, other.cpu, Span::plus);
    }
}

/// The sum, if both are known.
fn both<T>(first: Option<T>, other: Option<T>, sum: impl FnOnce(T, T) -> T) -> Option<T> {
    first.zip(other).map(|(first, other)| sum(first, other))
}

/// What a load did in one stretch of time, while conditions were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadBlock {
    /// Indices of the conditions that were measured meanwhile.
    pub conditions: Vec<u32>,
    /// Which of the conditions' turns this belongs to, from 0.
    pub round: u32,
    /// When the stretch began.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// When the stretch ended.
    #[serde(rename = "until_ns")]
    pub until: MonotonicTime,
    /// What each part did; empty when idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartEffect>,
    /// Context switches of the whole machine: `ctxt` of `/proc/stat`; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    /// Interrupts of the whole machine: `intr` of `/proc/stat`; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// How often each idle state of the measured CPU was entered, shallowest first: `cpuidle/stateN/usage`; absent where threads
    /// were not bound to one CPU, or the kernel counts none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_entries: Vec<u64>,
}

impl LoadBlock {
    pub fn elapsed(&self) -> Span {
        self.until.since(self.from)
    }

    /// Adds a later block of the same turn.
    pub fn merge(&mut self, later: &Self) {
        self.until = self.until.max(later.until);
        for part in &later.parts {
            match self.parts.iter_mut().find(|sum| sum.part == part.part) {
                Some(sum) => sum.add(part),
                None => self.parts.push(part.clone()),
            }
        }
        self.context_switches = both(self.context_switches, later.context_switches, u64::saturating_add);
        self.interrupts = both(self.interrupts, later.interrupts, u64::saturating_add);
        add_each(&mut self.idle_entries, &later.idle_entries);
    }
}

/// Adds `more` element by element.
pub fn add_each(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

/// What a load did during one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// CPU time it got, all its threads and processes together.
    #[serde(rename = "cpu_ns")]
    pub cpu: Span,
    /// How long it ran.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Span,
    /// How much of that it was given to come to its pace before anything was measured; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "settled_ns")]
    pub settled: Option<Span>,
    /// What each part did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartEffect>,
}
