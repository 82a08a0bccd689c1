//! Confidence intervals of a condition's percentiles, from its blocks.

use std::borrow::Cow;

use howlate_model::{Block, Distribution, Span};

use crate::batches::{Batches, ShareError};
use crate::{Interval, least_wakeups};

/// The wake-ups of a condition by batch of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionBlocks {
    batches: Batches,
    seen: u64,
    /// Total length of all blocks.
    lasted: Span,
}

impl ConditionBlocks {
    /// Counts a block, whose latencies are `latency`.
    pub(crate) fn add(&mut self, block: &Block, latency: &Distribution) {
        self.seen += 1;
        self.lasted = self.lasted.plus(block.until.since(block.from));
        self.batches.add(latency);
    }

    /// Frees spare memory; more blocks may follow.
    pub(crate) fn pack(&mut self) {
        self.batches.pack();
    }

    /// Statistics of the blocks; `all` are their wake-ups together.
    pub(crate) const fn numbers<'a>(&'a self, all: Cow<'a, Distribution>) -> BlockNumbers<'a> {
        BlockNumbers { blocks: self, all }
    }
}

/// Statistics of a condition's percentiles from its blocks.
#[derive(Clone, Debug)]
pub struct BlockNumbers<'a> {
    blocks: &'a ConditionBlocks,
    all: Cow<'a, Distribution>,
}

impl BlockNumbers<'_> {
    /// 95 % interval of the median; `None` with too few batches to know their spread.
    pub fn p50_interval(&self) -> Option<Interval> {
        self.blocks.batches.interval(&self.all, 0.5)
    }

    /// 95 % interval of the 99th percentile.
    pub fn p99_interval(&self) -> Option<Interval> {
        self.interval(0.99)
    }

    /// 95 % interval of the `quantile`; `None` with too few batches, or too few wake-ups for it.
    pub(crate) fn interval(&self, quantile: f64) -> Option<Interval> {
        let enough = self.all.count() >= least_wakeups(quantile);
        self.blocks.batches.interval(&self.all, quantile).filter(|_| enough)
    }

    /// An interval for runs that go on until it is narrow: batches without an event would make it narrow and wrong.
    pub(crate) fn skewed_interval(&self, quantile: f64) -> Option<Interval> {
        let enough = self.all.count() >= least_wakeups(quantile);
        self.blocks.batches.skewed_interval(&self.all, quantile).filter(|_| enough)
    }

    /// The share of wake-ups with a reported latency of at most `value`, and its error.
    pub(crate) fn share_up_to(&self, value: u64) -> Option<(f64, ShareError)> {
        self.blocks.batches.share_up_to(&self.all, value)
    }

    /// The `quantile` of each batch that has the wake-ups for it, nanoseconds, in order; at most 32 batches, as neighbouring blocks are
    /// joined.
    pub fn quantiles(&self, quantile: f64) -> Vec<f64> {
        self.blocks.batches.quantiles(quantile)
    }

    /// Number of blocks, and their mean length.
    pub fn extent(&self) -> (u64, Span) {
        let ConditionBlocks { seen, lasted, .. } = self.blocks;
        (*seen, Span::from_nanos(lasted.as_nanos() / (*seen).max(1)))
    }
}
