//! Latency statistics of one thread.

use howlate_model::Latency;

use super::options::DeadlineParameters;

/// Latencies of one thread in whole microseconds, as its line in the table shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlineThreadStats {
    pub(super) parameters: DeadlineParameters,
    pub(super) tid: u32,
    pub(super) cycles: u64,
    pub(super) min: u64,
    pub(super) act: u64,
    pub(super) max: u64,
    sum: u64,
    /// Number of latencies of a period or more.
    pub(super) missed: u64,
}

impl DeadlineThreadStats {
    pub const fn new(parameters: DeadlineParameters, tid: u32) -> Self {
        Self { parameters, tid, cycles: 0, min: 0, act: 0, max: 0, sum: 0, missed: 0 }
    }

    pub const fn tid(&self) -> u32 {
        self.tid
    }

    pub fn add(&mut self, latency: Latency) {
        let micros = micros(latency);
        self.min = if self.cycles == 0 { micros } else { self.min.min(micros) };
        self.max = self.max.max(micros);
        self.act = micros;
        self.sum = self.sum.saturating_add(micros);
        self.cycles += 1;
        self.missed += u64::from(micros >= self.parameters.period_us);
    }

    /// Mean latency; 0 without any latency.
    pub(super) fn mean(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.sum as f64 / self.cycles as f64 }
    }

    /// Mean latency, truncated.
    pub(super) fn whole_mean(&self) -> u64 {
        self.sum.checked_div(self.cycles).unwrap_or(0)
    }
}

/// Whole microseconds, truncated; 0 for negative latencies.
pub(super) fn micros(latency: Latency) -> u64 {
    u64::try_from(latency.as_nanos()).unwrap_or(0) / 1_000
}
