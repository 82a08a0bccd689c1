//! Numbers of single blocks: wake-ups of one run are not independent, but blocks nearly are.

use howlate_model::{Block, Distribution, Latency, Span};

use crate::{Interval, least_wakeups};

/// Block medians and 99th percentiles kept per condition. When there are more, every second
/// one is forgotten, so that memory stays constant however long the run.
pub(crate) const BLOCKS_KEPT: usize = 512;

/// Medians and 99th percentiles of a condition's blocks.
#[derive(Clone, Debug)]
pub struct BlockNumbers {
    p50: Vec<Latency>,
    p99: Vec<Latency>,
    /// Medians with their rounds.
    rounds: Vec<(u32, Latency)>,
    seen: u64,
    /// How long all blocks seen lasted.
    lasted: Span,
    /// Every how many blocks one is kept.
    stride: u64,
}

impl Default for BlockNumbers {
    fn default() -> Self {
        let (p50, p99, rounds) = Default::default();
        Self { p50, p99, rounds, seen: 0, lasted: Span::ZERO, stride: 1 }
    }
}

impl BlockNumbers {
    /// Counts a block, whose latencies are `latency`.
    pub(crate) fn add(&mut self, block: &Block, latency: &Distribution) {
        let keep = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        self.lasted = self.lasted.plus(block.until_ns.since(block.from_ns));
        if !keep {
            return;
        }
        self.p50.extend(latency.quantile(0.5));
        self.rounds.extend(latency.quantile(0.5).map(|median| (block.round, median)));
        if latency.count() >= least_wakeups(0.99) {
            self.p99.extend(latency.quantile(0.99));
        }
        if self.p50.len() > BLOCKS_KEPT {
            self.stride *= 2;
            forget_every_second(&mut self.p50);
            forget_every_second(&mut self.p99);
            forget_every_second(&mut self.rounds);
        }
    }

    /// 95 % interval of the median, from the medians of blocks.
    pub fn p50_interval(&self) -> Option<Interval> {
        Interval::of_median(&mut self.p50.clone())
    }

    /// 95 % interval of the 99th percentile, from those of blocks.
    pub fn p99_interval(&self) -> Option<Interval> {
        Interval::of_median(&mut self.p99.clone())
    }

    /// How many blocks there were, and how long one lasted on average.
    pub fn extent(&self) -> (u64, Span) {
        (self.seen, Span::from_nanos(self.lasted.as_nanos() / self.seen.max(1)))
    }

    /// The median of each block that is kept, with its round.
    pub(crate) fn round_medians(&self) -> &[(u32, Latency)] {
        &self.rounds
    }
}

fn forget_every_second<T>(values: &mut Vec<T>) {
    let mut keep = false;
    values.retain(|_| {
        keep = !keep;
        keep
    });
}
