//! Results of a run: statistics of all threads, spikes, the wake-up that exceeded `-b`.

use howlate_model::{MonotonicTime, Turn, Wakeup};

use crate::cyclictest::options::{CyclictestOptions, HistogramOptions, LatencyUnit, PolicyName};
use crate::cyclictest::spikes::Spikes;
use crate::cyclictest::stats::ThreadStats;
use crate::cyclictest::verbose::put_value;

/// The wake-up that exceeded `-b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakEvent {
    pub tid: u32,
    /// Latency in the printed unit.
    pub value: i64,
    at: MonotonicTime,
}

/// Results of all threads.
#[derive(Clone, Debug)]
pub struct CyclictestResults {
    pub(crate) threads: Vec<ThreadStats>,
    pub(crate) spikes: Option<Spikes>,
    pub(crate) break_event: Option<BreakEvent>,
    pub(crate) unit: LatencyUnit,
    pub(crate) policy: PolicyName,
    pub(crate) histogram: Option<HistogramOptions>,
    pub(crate) breaks: bool,
    pub(crate) quiet: bool,
    pub(crate) compat: crate::Compat,
    /// Offset of the timers' clock from `CLOCK_MONOTONIC`.
    pub(crate) clock_offset_ns: i64,
    break_above: Option<i64>,
    values: String,
}

impl CyclictestResults {
    /// Empty results of a turn that is about to start.
    pub fn new(options: &CyclictestOptions, turn: &Turn, clock_offset_ns: i64) -> Self {
        let stats =
            |(thread, task): (usize, &howlate_model::Task)| ThreadStats::new(options, thread, task.cpu);
        Self {
            threads: turn.tasks.iter().enumerate().map(stats).collect(),
            spikes: options.spike_above.map(|above| Spikes::new(above, options.spike_nodes)),
            break_event: None,
            unit: options.unit,
            policy: options.policy,
            histogram: options.histogram,
            breaks: options.break_above.is_some(),
            quiet: options.quiet,
            compat: options.compat,
            clock_offset_ns,
            break_above: options.break_above,
            values: String::new(),
        }
    }

    /// Sets the id of a thread that has started.
    pub fn set_tid(&mut self, thread: usize, tid: u32) {
        if let Some(stats) = self.threads.get_mut(thread) {
            stats.tid = tid;
        }
    }

    /// Sets a thread's number of system management interrupts.
    pub fn set_smis(&mut self, thread: usize, smis: u64) {
        if let Some(stats) = self.threads.get_mut(thread) {
            stats.smis = Some(smis);
        }
    }

    /// Counts wake-ups of one thread.
    pub fn add(&mut self, thread: usize, wakeups: &[Wakeup]) {
        let Some(stats) = self.threads.get_mut(thread) else { return };
        for wakeup in wakeups {
            let (cycle, value) = stats.add(wakeup.latency());
            if let Some(spikes) = &mut self.spikes {
                spikes.add(thread, value, wakeup.ran);
            }
            if let Some(maximum) = stats.oscope.as_mut().and_then(|oscope| oscope.add(cycle, value)) {
                put_value(&mut self.values, thread, maximum, stats.smis.is_some());
            }
            if self.break_above.is_some_and(|above| value > above) {
                let event = BreakEvent { tid: stats.tid, value, at: wakeup.ran };
                // Several threads may exceed the limit at once; the first one to run ended the run.
                let is_first = self.break_event.is_none_or(|earlier| event.at < earlier.at);
                self.break_event = if is_first { Some(event) } else { self.break_event };
            }
        }
    }

    /// Largest latency so far, in the printed unit.
    pub fn max(&self) -> i64 {
        self.threads.iter().map(|stats| stats.max).max().unwrap_or(0)
    }

    /// The values since the last call, in the format of `-v`.
    pub fn take_values(&mut self) -> String {
        std::mem::take(&mut self.values)
    }
}
