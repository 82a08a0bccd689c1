//! `--smi`: how many system management interrupts came during the run.
//!
//! Counted before and after the run, not at every wake-up: reading another CPU's register
//! interrupts it, which would add to the latencies.

use howlate_model::Turn;
use howlate_procfs::{Root, SmiCounter, counts_smis};
use howlate_rt_tests::cyclictest::Results;

use crate::cyclictest::failure::Failure;

/// The counters of the measured CPUs, one per thread.
pub(crate) struct Counters {
    counters: Vec<(SmiCounter, u64)>,
}

impl Counters {
    pub(crate) fn open(turn: &Turn) -> Result<Self, Failure> {
        if !counts_smis(&Root::live()) {
            return Err(Failure::NoSmi);
        }
        let cpus = turn.tasks.iter().filter_map(|task| task.cpu);
        let counters = cpus.map(counter).collect::<Result<_, _>>()?;
        Ok(Self { counters })
    }

    /// Adds what has come since.
    pub(crate) fn count(&self, results: &mut Results) {
        for (thread, (counter, before)) in self.counters.iter().enumerate() {
            let now = counter.read().unwrap_or(*before);
            results.counted_smis(thread, now.wrapping_sub(*before) & u64::from(u32::MAX));
        }
    }
}

fn counter(cpu: u32) -> Result<(SmiCounter, u64), Failure> {
    let opened = SmiCounter::open(cpu).and_then(|counter| counter.read().map(|count| (counter, count)));
    opened.map_err(|source| Failure::Smi { cpu, path: SmiCounter::path(cpu), source })
}
