//! Intervals of a condition's percentiles, from its blocks.

use std::borrow::Cow;

use howlate_model::{Block, Distribution, Span};

use crate::batches::{Error, Stretches};
use crate::{Interval, least_wakeups};

/// The wake-ups of a condition by stretch of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    stretches: Stretches,
    seen: u64,
    /// How long all blocks seen lasted.
    lasted: Span,
}

impl Blocks {
    /// Counts a block, whose latencies are `latency`.
    pub(crate) fn add(&mut self, block: &Block, latency: &Distribution) {
        self.seen += 1;
        self.lasted = self.lasted.plus(block.until.since(block.from));
        self.stretches.add(latency);
    }

    /// Takes as little room as it needs; more may come still.
    pub(crate) fn pack(&mut self) {
        self.stretches.pack();
    }

    /// Their numbers, where `all` are their wake-ups together.
    pub(crate) const fn numbers<'a>(&'a self, all: Cow<'a, Distribution>) -> BlockNumbers<'a> {
        BlockNumbers { blocks: self, all }
    }
}

/// What the blocks of a condition say of its percentiles.
#[derive(Clone, Debug)]
pub struct BlockNumbers<'a> {
    blocks: &'a Blocks,
    all: Cow<'a, Distribution>,
}

impl BlockNumbers<'_> {
    /// 95 % interval of the median; `None` where too little is known of how far stretches lie apart.
    pub fn p50_interval(&self) -> Option<Interval> {
        self.blocks.stretches.interval(&self.all, 0.5)
    }

    /// 95 % interval of the 99th percentile.
    pub fn p99_interval(&self) -> Option<Interval> {
        self.interval(0.99)
    }

    /// 95 % interval of a `quantile`; `None` where too little is known, or it takes more wake-ups.
    pub(crate) fn interval(&self, quantile: f64) -> Option<Interval> {
        let enough = self.all.count() >= least_wakeups(quantile);
        self.blocks.stretches.interval(&self.all, quantile).filter(|_| enough)
    }

    /// The same for one that looks until it is narrow: stretches in which nothing happened make it narrow and wrong.
    pub(crate) fn leaning_interval(&self, quantile: f64) -> Option<Interval> {
        let enough = self.all.count() >= least_wakeups(quantile);
        self.blocks.stretches.leaning_interval(&self.all, quantile).filter(|_| enough)
    }

    /// The share of wake-ups that are told as no more than a value, and by how much it may be off.
    pub(crate) fn share_up_to(&self, value: u64) -> Option<(f64, Error)> {
        self.blocks.stretches.share_up_to(&self.all, value)
    }

    /// A `quantile` of each stretch that has the wake-ups for it, nanoseconds, in order; neighbouring blocks are joined, so
    /// that there are at most 32.
    pub fn quantiles(&self, quantile: f64) -> Vec<f64> {
        self.blocks.stretches.quantiles(quantile)
    }

    /// How many blocks there were, and how long one lasted on average.
    pub fn extent(&self) -> (u64, Span) {
        let Blocks { seen, lasted, .. } = self.blocks;
        (*seen, Span::from_nanos(lasted.as_nanos() / (*seen).max(1)))
    }
}
