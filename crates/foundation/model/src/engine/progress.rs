//! Progress of a measuring thread.

use crate::{Block, EffectiveSettings, Latency, Policy, Task, Work};

/// Progress of one thread, for the live display.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadProgress {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// The policy in force.
    pub policy: Policy,
    pub work: Work,
    /// Wake-ups counted so far.
    pub count: u64,
    /// Periods missed so far.
    pub missed: u64,
    /// The smallest latency.
    pub min: Latency,
    /// The most recent one.
    pub last: Latency,
    /// Sum of latencies, nanoseconds.
    pub sum_ns: i128,
    /// Largest latency so far.
    pub max: Latency,
}

impl ThreadProgress {
    /// Before the first wake-up of `task`.
    pub fn new(task: &Task, in_force: &EffectiveSettings) -> Self {
        Self {
            condition: task.condition,
            tid: in_force.tid,
            policy: in_force.policy,
            work: task.work,
            count: 0,
            missed: 0,
            min: Latency::from_nanos(i64::MAX),
            last: Latency::default(),
            sum_ns: 0,
            max: Latency::from_nanos(i64::MIN),
        }
    }

    pub fn add(&mut self, block: &Block) {
        let latency = &block.latency;
        let (Some(min), Some(max)) = (latency.min(), latency.max()) else { return };
        self.count += latency.count();
        self.missed += block.missed_periods;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        self.sum_ns += latency.sum_nanos();
    }
}
