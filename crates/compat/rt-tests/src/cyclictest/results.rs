//! What is counted of a whole run.

use howlate_model::{MonotonicTime, Turn, Wakeup};

use crate::cyclictest::options::{HistogramAsked, Options, PolicyName, Unit};
use crate::cyclictest::spikes::Spikes;
use crate::cyclictest::tally::Tally;
use crate::cyclictest::verbose::put_value;

/// The wake-up that exceeded `-b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The thread's id.
    pub tid: u32,
    /// Its latency, in the unit printed.
    pub value: i64,
    at: MonotonicTime,
}

/// All threads of a run.
#[derive(Clone, Debug)]
pub struct Results {
    pub(crate) tallies: Vec<Tally>,
    pub(crate) spikes: Option<Spikes>,
    pub(crate) hit: Option<Hit>,
    pub(crate) unit: Unit,
    pub(crate) policy: PolicyName,
    pub(crate) histogram: Option<HistogramAsked>,
    pub(crate) breaks: bool,
    pub(crate) quiet: bool,
    pub(crate) compat: crate::Compat,
    /// Nanoseconds that the clock waited on is ahead of `CLOCK_MONOTONIC`.
    pub(crate) ahead: i64,
    break_above: Option<i64>,
    values: String,
}

impl Results {
    /// Empty results of a turn that is about to begin.
    pub fn new(options: &Options, turn: &Turn, ahead: i64) -> Self {
        let tally = |(thread, task): (usize, &howlate_model::Task)| Tally::new(options, thread, task.cpu);
        Self {
            tallies: turn.tasks.iter().enumerate().map(tally).collect(),
            spikes: options.spike_above.map(|above| Spikes::new(above, options.spike_nodes)),
            hit: None,
            unit: options.unit,
            policy: options.policy,
            histogram: options.histogram,
            breaks: options.break_above.is_some(),
            quiet: options.quiet,
            compat: options.compat,
            ahead,
            break_above: options.break_above,
            values: String::new(),
        }
    }

    /// A thread has started.
    pub fn started(&mut self, thread: usize, tid: u32) {
        if let Some(tally) = self.tallies.get_mut(thread) {
            tally.tid = tid;
        }
    }

    /// A thread's count of system management interrupts.
    pub fn counted_smis(&mut self, thread: usize, smis: u64) {
        if let Some(tally) = self.tallies.get_mut(thread) {
            tally.smis = Some(smis);
        }
    }

    /// Counts wake-ups of one thread.
    pub fn add(&mut self, thread: usize, wakeups: &[Wakeup]) {
        let Some(tally) = self.tallies.get_mut(thread) else { return };
        for wakeup in wakeups {
            let (cycle, value) = tally.add(wakeup.latency());
            if let Some(spikes) = &mut self.spikes {
                spikes.add(thread, value, wakeup.ran);
            }
            if let Some(shown) = tally.oscope.as_mut().and_then(|oscope| oscope.add(cycle, value)) {
                put_value(&mut self.values, thread, shown, tally.smis.is_some());
            }
            if self.break_above.is_some_and(|above| value > above) {
                let hit = Hit { tid: tally.tid, value, at: wakeup.ran };
                // Two threads may exceed it at once; the one that ran first stopped the other.
                let first = self.hit.is_none_or(|other| hit.at < other.at);
                self.hit = if first { Some(hit) } else { self.hit };
            }
        }
    }

    /// The largest latency so far, in the unit printed.
    pub fn max(&self) -> i64 {
        self.tallies.iter().map(|tally| tally.max).max().unwrap_or(0)
    }

    /// The values since the last call, as `-v` prints them.
    pub fn take_values(&mut self) -> String {
        std::mem::take(&mut self.values)
    }
}
