//! Intervals of a condition's percentiles, from its blocks.

use howlate_model::{Block, Distribution, Span};

use crate::stretches::Stretches;
use crate::{Interval, least_wakeups};

/// The wake-ups of a condition by stretch of time, and all together.
#[derive(Clone, Debug, Default)]
pub struct BlockNumbers {
    stretches: Stretches,
    all: Distribution,
    seen: u64,
    /// How long all blocks seen lasted.
    lasted: Span,
}

impl BlockNumbers {
    /// Counts a block, whose latencies are `latency`.
    pub(crate) fn add(&mut self, block: &Block, latency: &Distribution) {
        self.seen += 1;
        self.lasted = self.lasted.plus(block.until_ns.since(block.from_ns));
        self.stretches.add(latency);
        self.all.merge(latency);
    }

    /// 95 % interval of the median; `None` where too little is known of how far stretches lie apart.
    pub fn p50_interval(&self) -> Option<Interval> {
        self.stretches.interval(&self.all, 0.5)
    }

    /// 95 % interval of the 99th percentile.
    pub fn p99_interval(&self) -> Option<Interval> {
        self.stretches.interval(&self.all, 0.99).filter(|_| self.all.count() >= least_wakeups(0.99))
    }

    /// How many blocks there were, and how long one lasted on average.
    pub fn extent(&self) -> (u64, Span) {
        (self.seen, Span::from_nanos(self.lasted.as_nanos() / self.seen.max(1)))
    }
}
