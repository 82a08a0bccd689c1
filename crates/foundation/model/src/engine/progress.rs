//! How far a thread has come.

use crate::{Block, EffectiveSettings, Latency, Policy, Task, Work};

/// How far one thread has come, for a live display.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadProgress {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// The policy in force.
    pub policy: Policy,
    /// What it does.
    pub work: Work,
    /// Wake-ups counted so far.
    pub count: u64,
    /// Periods missed so far.
    pub missed: u64,
    /// The smallest latency.
    pub min: Latency,
    /// The most recent one.
    pub last: Latency,
    /// The sum, in nanoseconds.
    pub sum_ns: i128,
    /// Largest latency so far.
    pub max: Latency,
}

impl ThreadProgress {
    /// Of a thread that has yet to begin `task`.
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

    /// Adds what a block holds.
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
