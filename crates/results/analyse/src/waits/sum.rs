//! Waits added up.

use std::collections::BTreeMap;

use howlate_model::{Span, Waits};

use super::reason::Reason;

/// Waits of one reason, over a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Time of the while that was spent so.
    pub time: Span,
    /// How many waits ended in it or go on.
    pub count: u64,
    /// How many of them go on.
    pub ongoing: u64,
    /// Their whole lengths together, also of what was before.
    pub whole: Span,
    /// The whole length of the longest one.
    pub longest: Span,
    /// At how many of them the stack was looked at.
    pub looked_at: u64,
}

impl Sum {
    /// Adds waits that are over.
    pub(super) fn over(&mut self, waits: Waits, looked_at: u64) {
        self.time = self.time.plus(waits.time);
        self.whole = self.whole.plus(waits.time);
        self.count += waits.count;
        self.longest = self.longest.max(waits.longest);
        self.looked_at += looked_at;
    }

    /// Adds one that is not.
    pub(super) fn ongoing(&mut self, lasts: Span) {
        self.over(Waits { time: lasts, count: 1, longest: lasts }, 0);
        self.ongoing += 1;
    }

    /// Takes off what was before the while.
    pub(super) fn before(&mut self, lasts: Span) {
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

    /// The length of one.
    pub fn mean(&self) -> Span {
        Span::from_nanos(self.whole.as_nanos() / self.count.max(1))
    }
}

/// In place of a name: nobody kept the thread, its control group had used up its CPU quota.
pub(super) const QUOTA: &str = "(quota)";

/// Who had the CPU meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// The process's name; empty if the CPU was idle, and had to wake up. [`is_quota`](Self::is_quota) where it was nobody.
    pub name: String,
    /// Its id; `None` of several of that name.
    pub pid: Option<u32>,
    /// For how long.
    pub time: Span,
}

impl Behind {
    /// Whether it was nobody: the waiter's control group had used up its CPU quota.
    pub fn is_quota(&self) -> bool {
        self.pid.is_none() && self.name == QUOTA
    }
}

/// What one or several threads waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) seen: Span,
    pub(super) by_reason: BTreeMap<Reason, (Sum, u64)>,
    pub(super) behind: BTreeMap<String, Behind>,
}

impl Sums {
    /// Adds to a reason; `stack` is a place where it waited.
    pub(super) fn add(&mut self, reason: Reason, stack: u64, sum: &Sum) {
        let (into, place) = self.by_reason.entry(reason).or_default();
        into.plus(sum);
        *place = stack;
    }

    /// Adds to who had the CPU.
    pub(super) fn behind(&mut self, behind: Behind) {
        let into = self
            .behind
            .entry(behind.name.clone())
            .or_insert_with(|| Behind { time: Span::ZERO, ..behind.clone() });
        into.time = into.time.plus(behind.time);
        into.pid = into.pid.filter(|pid| Some(*pid) == behind.pid);
    }

    /// Adds what others waited for.
    pub(super) fn plus(&mut self, other: Self) {
        self.seen = self.seen.plus(other.seen);
        other.by_reason.into_iter().for_each(|(reason, (sum, stack))| self.add(reason, stack, &sum));
        other.behind.into_values().for_each(|one| self.behind(one));
    }
}
