//! `--smi`: counts system management interrupts during the run.
//!
//! The counters are read before and after the run only: reading a register of another CPU interrupts it, which would
//! increase latencies.

use howlate_model::Turn;
use howlate_procfs::{Root, SmiCounter, counts_smis};
use howlate_rt_tests::cyclictest::CyclictestResults;

use crate::cyclictest::error::CyclictestError;

/// The counter of each thread's CPU, with its value before the run.
pub(crate) struct SmiCounters {
    counters: Vec<(SmiCounter, u64)>,
}

impl SmiCounters {
    pub(crate) fn open(turn: &Turn) -> Result<Self, CyclictestError> {
        if !counts_smis(&Root::live()) {
            return Err(CyclictestError::NoSmi);
        }
        let cpus = turn.tasks.iter().filter_map(|task| task.cpu);
        let counters = cpus.map(open_counter).collect::<Result<_, _>>()?;
        Ok(Self { counters })
    }

    /// Sets each thread's number of interrupts since [`open`](Self::open).
    pub(crate) fn count(&self, results: &mut CyclictestResults) {
        for (thread, (counter, before)) in self.counters.iter().enumerate() {
            let now = counter.read().unwrap_or(*before);
            results.set_smis(thread, now.wrapping_sub(*before) & u64::from(u32::MAX));
        }
    }
}

fn open_counter(cpu: u32) -> Result<(SmiCounter, u64), CyclictestError> {
    let opened = SmiCounter::open(cpu).and_then(|counter| counter.read().map(|count| (counter, count)));
    opened.map_err(|source| CyclictestError::Smi { cpu, path: SmiCounter::path(cpu), source })
}
