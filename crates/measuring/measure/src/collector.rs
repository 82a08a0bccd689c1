//! The observer's side of one measuring thread.

use std::sync::Arc;

use howlate_model::{
    Block, BlockBuilder, EffectiveSettings, Latency, MonotonicTime, Task, ThreadProgress, Wakeup,
};

use crate::ring::{Arrived, Ring};

/// Empties a thread's ring into blocks.
pub(crate) struct Collector {
    ring: Arc<Ring>,
    blocks: BlockBuilder,
    /// Up to the block's beginning.
    before: ThreadProgress,
    last: Latency,
}

impl Collector {
    /// Of a thread that begins at `from`, with no wake-up planned after `until`.
    pub(crate) fn new(
        task: &Task,
        ring: Arc<Ring>,
        in_force: &EffectiveSettings,
        from: MonotonicTime,
        until: MonotonicTime,
    ) -> Self {
        let blocks = BlockBuilder::new(task, from).ending(until);
        let before = ThreadProgress::new(task, in_force);
        Self { ring, blocks, before, last: Latency::default() }
    }

    /// Takes what has arrived; `also` sees it too.
    pub(crate) fn drain(&mut self, also: impl FnOnce(&Arrived<'_>)) {
        let Self { ring, blocks, last, .. } = self;
        ring.drain(|arrived| {
            arrived.stretches().into_iter().for_each(|wakeups| blocks.record_all(wakeups));
            *last = arrived.last().map_or(*last, Wakeup::latency);
            also(arrived);
        });
    }

    /// How far the thread has come.
    pub(crate) fn progress(&self) -> ThreadProgress {
        let mut progress = self.before.clone();
        progress.add(self.blocks.current());
        progress.last = self.last;
        progress
    }

    /// Ends the current block at `now` and begins the next; `None` if nothing happened in it.
    pub(crate) fn close(&mut self, now: MonotonicTime) -> Option<Block> {
        self.blocks.set_lost(self.ring.lost());
        self.before.add(self.blocks.current());
        self.blocks.close(now)
    }
}
