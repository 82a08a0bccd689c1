//! What is counted of one thread.

use howlate_model::Latency;

use crate::cyclictest::histogram::Histogram;
use crate::cyclictest::options::{Options, Unit};
use crate::cyclictest::verbose::Oscope;

/// One thread's numbers, in the unit printed.
#[derive(Clone, Debug)]
pub struct Tally {
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
    unit: Unit,
    pub(crate) histogram: Option<Histogram>,
    pub(crate) oscope: Option<Oscope>,
    /// System management interrupts, where they are counted.
    pub(crate) smis: Option<u64>,
}

/// What the original shows as the smallest latency before there is any.
const NO_MIN: i64 = 1_000_000;

impl Tally {
    pub(crate) fn new(options: &Options, thread: usize, cpu: Option<u32>) -> Self {
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
            histogram: options.histogram.map(|asked| Histogram::new(asked.buckets)),
            oscope: options.verbose.then(|| Oscope::new(options.oscope)),
            smis: options.smi.then_some(0),
        }
    }

    /// Counts one wake-up; returns its cycle and its value.
    pub(crate) fn add(&mut self, latency: Latency) -> (u64, i64) {
        let (cycle, value) = (self.cycles, self.unit.of_nanos(latency.as_nanos()));
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

    /// The mean; 0 before there is any value.
    pub(crate) fn mean(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.sum as f64 / self.cycles as f64 }
    }

    /// The mean, cut to a whole number as most of the output shows it.
    pub(crate) fn whole_mean(&self) -> i64 {
        i64::try_from(self.cycles).ok().filter(|cycles| *cycles > 0).map_or(0, |cycles| self.sum / cycles)
    }
}
