//! What is counted of one thread.

use howlate_model::Latency;

use super::options::Thread;

/// One thread's numbers, in whole microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub(super) thread: Thread,
    pub(super) tid: u32,
    pub(super) cycles: u64,
    pub(super) min: u64,
    pub(super) act: u64,
    pub(super) max: u64,
    sum: u64,
    /// Latencies of a period or more.
    pub(super) missing: u64,
}

impl Tally {
    /// Nothing yet.
    pub const fn new(thread: Thread, tid: u32) -> Self {
        Self { thread, tid, cycles: 0, min: 0, act: 0, max: 0, sum: 0, missing: 0 }
    }

    /// The thread's id.
    pub const fn tid(&self) -> u32 {
        self.tid
    }

    /// Counts one.
    pub fn add(&mut self, latency: Latency) {
        let micros = micros(latency);
        self.min = if self.cycles == 0 { micros } else { self.min.min(micros) };
        self.max = self.max.max(micros);
        self.act = micros;
        self.sum = self.sum.saturating_add(micros);
        self.cycles += 1;
        self.missing += u64::from(micros >= self.thread.period_us);
    }

    /// The mean; 0 before there is any latency.
    pub(super) fn mean(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.sum as f64 / self.cycles as f64 }
    }

    /// The mean, cut to a whole number.
    pub(super) fn whole_mean(&self) -> u64 {
        self.sum.checked_div(self.cycles).unwrap_or(0)
    }
}

/// Cut to whole ones.
pub(super) fn micros(latency: Latency) -> u64 {
    u64::try_from(latency.as_nanos()).unwrap_or(0) / 1_000
}
