//! Sums of waits.

use std::collections::BTreeMap;

use howlate_model::{Span, Waits};

use super::reason::WaitReason;

/// Waits for one reason, in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    /// Time of the interval that was spent so.
    pub time: Span,
    /// Number of waits that ended in it or go on.
    pub count: u64,
    /// Number of waits that go on.
    pub ongoing: u64,
    /// Their whole lengths together, including time before the interval.
    pub whole: Span,
    /// The whole length of the longest one.
    pub longest: Span,
    /// Number of them whose stack was read.
    pub looked_at: u64,
}

impl WaitSum {
    /// Adds waits that have ended.
    pub(super) fn add_ended(&mut self, waits: Waits, looked_at: u64) {
        self.time = self.time.plus(waits.time);
        self.whole = self.whole.plus(waits.time);
        self.count += waits.count;
        self.longest = self.longest.max(waits.longest);
        self.looked_at += looked_at;
    }

    /// Adds a wait that goes on.
    pub(super) fn add_ongoing(&mut self, lasts: Span) {
        self.add_ended(Waits { time: lasts, count: 1, longest: lasts }, 0);
        self.ongoing += 1;
    }

    /// Subtracts the time before the interval.
    pub(super) fn subtract_before(&mut self, lasts: Span) {
        self.time = self.time.minus(lasts);
    }

    /// Adds another sum.
    pub(super) fn plus(&mut self, other: &Self) {
        self.time = self.time.plus(other.time);
        self.count += other.count;
        self.ongoing += other.ongoing;
        self.whole = self.whole.plus(other.whole);
        self.longest = self.longest.max(other.longest);
        self.looked_at += other.looked_at;
    }

    /// The mean length of a wait.
    pub fn mean(&self) -> Span {
        Span::from_nanos(self.whole.as_nanos() / self.count.max(1))
    }
}

/// Instead of a name: no thread had the CPU, but the waiting thread's control group had used up its CPU quota.
pub(super) const QUOTA: &str = "(quota)";

/// What had the CPU meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuHolderTime {
    /// Name of the process; empty if the CPU was idle, and had to wake up. See also [`is_quota`](Self::is_quota).
    pub name: String,
    /// Its id; `None` for several of that name.
    pub pid: Option<u32>,
    /// How long it had the CPU.
    pub time: Span,
}

impl CpuHolderTime {
    /// Whether no process had it: the waiting thread's control group had used up its CPU quota.
    pub fn is_quota(&self) -> bool {
        self.pid.is_none() && self.name == QUOTA
    }
}

/// The waits of one or several threads.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitSums {
    pub(super) seen: Span,
    pub(super) by_reason: BTreeMap<WaitReason, (WaitSum, u64)>,
    pub(super) behind: BTreeMap<String, CpuHolderTime>,
}

impl WaitSums {
    /// Adds to a reason; `stack` is where it waited.
    pub(super) fn add(&mut self, reason: WaitReason, stack: u64, sum: &WaitSum) {
        let (into, place) = self.by_reason.entry(reason).or_default();
        into.plus(sum);
        *place = stack;
    }

    /// Adds to what had the CPU.
    pub(super) fn add_holder(&mut self, holder: CpuHolderTime) {
        let into = self
            .behind
            .entry(holder.name.clone())
            .or_insert_with(|| CpuHolderTime { time: Span::ZERO, ..holder.clone() });
        into.time = into.time.plus(holder.time);
        into.pid = into.pid.filter(|pid| Some(*pid) == holder.pid);
    }

    /// Adds the waits of others.
    pub(super) fn plus(&mut self, other: Self) {
        self.seen = self.seen.plus(other.seen);
        other.by_reason.into_iter().for_each(|(reason, (sum, stack))| self.add(reason, stack, &sum));
        other.behind.into_values().for_each(|holder| self.add_holder(holder));
    }
}
