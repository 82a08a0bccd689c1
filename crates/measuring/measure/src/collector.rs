//! Collects the wake-ups of one measuring thread.

use std::sync::Arc;

use howlate_model::{
    Block, BlockBuilder, EffectiveSettings, Latency, MonotonicTime, Task, ThreadProgress, Wakeup,
};

use crate::ring::{PendingWakeups, WakeupRing};

/// Empties a thread's ring into blocks.
pub(crate) struct Collector {
    ring: Arc<WakeupRing>,
    blocks: BlockBuilder,
    /// Up to the start of the current block.
    completed: ThreadProgress,
    last: Latency,
}

impl Collector {
    /// For a thread that starts at `from`, with no wake-up planned after `until`.
    pub(crate) fn new(
        task: &Task,
        ring: Arc<WakeupRing>,
        in_force: &EffectiveSettings,
        from: MonotonicTime,
        until: MonotonicTime,
    ) -> Self {
        let blocks = BlockBuilder::new(task, from).ending(until);
        let completed = ThreadProgress::new(task, in_force);
        Self { ring, blocks, completed, last: Latency::default() }
    }

    /// Records all pending wake-ups, and passes them to `inspect`.
    pub(crate) fn drain(&mut self, inspect: impl FnOnce(&PendingWakeups<'_>)) {
        let Self { ring, blocks, last, .. } = self;
        ring.drain(|pending| {
            pending.slices().into_iter().for_each(|wakeups| blocks.record_all(wakeups));
            *last = pending.last().map_or(*last, Wakeup::latency);
            inspect(pending);
        });
    }

    pub(crate) fn progress(&self) -> ThreadProgress {
        let mut progress = self.completed.clone();
        progress.add(self.blocks.current());
        progress.last = self.last;
        progress
    }

    /// Ends the current block at `now` and starts the next; `None` if it is empty.
    pub(crate) fn close(&mut self, now: MonotonicTime) -> Option<Block> {
        self.blocks.set_lost(self.ring.lost());
        self.completed.add(self.blocks.current());
        self.blocks.close(now)
    }
}
