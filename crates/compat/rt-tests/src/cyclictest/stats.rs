//! Latency statistics and histogram of one thread.

use howlate_model::Latency;

use crate::cyclictest::options::{CyclictestOptions, LatencyUnit};
use crate::cyclictest::verbose::Oscope;

/// Statistics of one thread, in the printed unit.
#[derive(Clone, Debug)]
pub struct ThreadStats {
    pub(crate) thread: usize,
    pub(crate) tid: u32,
    pub(crate) priority: u32,
    pub(crate) interval_us: i64,
    pub(crate) cpu: Option<u32>,
    pub(crate) cycles: u64,
    pub(crate) min: i64,
    pub(crate) act: i64,
    pub(crate) max: i64,
    sum: i64,
    unit: LatencyUnit,
    pub(crate) histogram: Option<Histogram>,
    pub(crate) oscope: Option<Oscope>,
    /// System management interrupts; `None` without `--smi`.
    pub(crate) smis: Option<u64>,
}

/// The original's minimum of a thread without any cycle.
const NO_MIN: i64 = 1_000_000;

impl ThreadStats {
    pub(crate) fn new(options: &CyclictestOptions, thread: usize, cpu: Option<u32>) -> Self {
        Self {
            thread,
            tid: 0,
            priority: options.priority_of(thread),
            interval_us: options.interval_of(thread),
            cpu,
            cycles: 0,
            min: NO_MIN,
            act: 0,
            max: 0,
            sum: 0,
            unit: options.unit,
            histogram: options.histogram.map(|histogram| Histogram::new(histogram.buckets)),
            oscope: options.verbose.then(|| Oscope::new(options.oscope)),
            smis: options.smi.then_some(0),
        }
    }

    /// Counts a wake-up; returns its cycle and its latency in the printed unit.
    pub(crate) fn add(&mut self, latency: Latency) -> (u64, i64) {
        let (cycle, value) = (self.cycles, self.unit.convert_nanos(latency.as_nanos()));
        self.min = if cycle == 0 { value } else { self.min.min(value) };
        self.max = if cycle == 0 { value } else { self.max.max(value) };
        self.act = value;
        self.sum = self.sum.saturating_add(value);
        self.cycles += 1;
        if let Some(histogram) = &mut self.histogram {
            histogram.add(value, cycle);
        }
        (cycle, value)
    }

    /// Mean latency; 0 without any cycle.
    pub(crate) fn mean(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.sum as f64 / self.cycles as f64 }
    }

    /// Mean latency, truncated, as in all output except JSON.
    pub(crate) fn whole_mean(&self) -> i64 {
        i64::try_from(self.cycles).ok().filter(|cycles| *cycles > 0).map_or(0, |cycles| self.sum / cycles)
    }
}

/// Linear histogram with one bucket per unit.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    pub(crate) buckets: Vec<u64>,
    /// Number of values above the last bucket.
    pub(crate) overflows: u64,
    /// Cycles of the first overflows, at most as many as there are buckets.
    pub(crate) overflow_cycles: Vec<u64>,
}

impl Histogram {
    pub(crate) fn new(buckets: usize) -> Self {
        Self { buckets: vec![0; buckets], overflows: 0, overflow_cycles: Vec::new() }
    }

    /// Counts `value`. Negative ones, after the clock was set back, count as 0.
    pub(crate) fn add(&mut self, value: i64, cycle: u64) {
        let bucket = usize::try_from(value.max(0)).unwrap_or(usize::MAX);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
            return;
        }
        self.overflows += 1;
        if self.overflow_cycles.len() < self.buckets.len() {
            self.overflow_cycles.push(cycle);
        }
    }

    /// Index and count of the buckets that are not empty.
    pub(crate) fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.buckets.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }
}
