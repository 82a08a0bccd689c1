//! A condition's latencies along the run.

use howlate_model::{Block, MonotonicTime, TurnFinished, TurnStarted};

use crate::plot_buckets::LatencyColumns;

/// Most slices per condition. Beyond that, neighbours are joined, so that memory stays constant however long the run.
const MOST_SLICES: usize = 256;

/// An interval of time with its latencies.
#[derive(Clone, Debug)]
pub struct TimeSlice {
    pub from: MonotonicTime,
    pub until: MonotonicTime,
    /// The smallest latency in nanoseconds, exact.
    pub min: i64,
    /// The largest latency in nanoseconds, exact.
    pub max: i64,
    /// Histogram of the latencies.
    pub columns: LatencyColumns,
    /// The latencies that missed periods would have had.
    swallowed: LatencyColumns,
    /// Periods missed within the slice.
    pub missed_periods: u64,
    /// Wake-ups that were measured but lost.
    pub lost: u64,
}

impl TimeSlice {
    fn from_block(block: &Block) -> Option<Self> {
        Some(Self {
            from: block.from,
            until: block.until,
            min: block.latency.min()?.as_nanos(),
            max: block.latency.max()?.as_nanos(),
            columns: LatencyColumns::from_distribution(&block.latency),
            swallowed: block.swallowed.as_ref().map(LatencyColumns::from_distribution).unwrap_or_default(),
            missed_periods: block.missed_periods,
            lost: block.lost,
        })
    }

    /// Number of planned wake-ups.
    pub fn count(&self) -> u64 {
        self.columns.count() + self.swallowed.count()
    }

    fn join(&mut self, other: &Self) {
        self.from = self.from.min(other.from);
        self.until = self.until.max(other.until);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.columns.merge(&other.columns);
        self.swallowed.merge(&other.swallowed);
        self.missed_periods += other.missed_periods;
        self.lost += other.lost;
    }
}

/// When one turn of a condition was measured.
#[derive(Clone, Debug)]
pub struct TurnPeriod {
    /// Number of the turn, from 0.
    pub round: u32,
    pub from: MonotonicTime,
    /// `None` where the recording does not say.
    pub until: Option<MonotonicTime>,
}

/// A condition's slices and turns, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    slices: Vec<TimeSlice>,
    turns: Vec<TurnPeriod>,
    /// Number of blocks in a full slice.
    joined: usize,
    /// Number of blocks in the last slice.
    in_last: usize,
}

impl Timeline {
    pub(crate) fn start_turn(&mut self, started: &TurnStarted) {
        self.turns.push(TurnPeriod { round: started.round, from: started.at, until: None });
    }

    pub(crate) fn finish(&mut self, finished: &TurnFinished) {
        let turn = self.turns.iter_mut().rev().find(|turn| turn.round == finished.round);
        if let Some(turn) = turn {
            turn.until = Some(finished.at);
        }
    }

    pub(crate) fn add_block(&mut self, block: &Block) {
        let Some(slice) = TimeSlice::from_block(block) else { return };
        match self.slices.last_mut() {
            Some(last) if self.in_last < self.joined.max(1) => {
                last.join(&slice);
                self.in_last += 1;
            }
            _ => {
                self.slices.push(slice);
                self.in_last = 1;
            }
        }
        if self.slices.len() > MOST_SLICES {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let join = |pair: &[TimeSlice]| {
            let mut joined = pair[0].clone();
            pair[1..].iter().for_each(|later| joined.join(later));
            joined
        };
        let alone = self.slices.len() % 2 == 1;
        self.slices = self.slices.chunks(2).map(join).collect();
        self.in_last += if alone { 0 } else { self.joined.max(1) };
        self.joined = 2 * self.joined.max(1);
    }

    /// The slices in order of time.
    pub fn slices(&self) -> &[TimeSlice] {
        &self.slices
    }

    /// The turns in order of time, for marks on the axis.
    pub fn turns(&self) -> &[TurnPeriod] {
        &self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Latency, Span};

    fn block(second: i64, late: i64) -> Block {
        let from = MonotonicTime::from_nanos(second * 1_000_000_000);
        let mut block = Block { from, until: from.plus(Span::from_secs(1)), ..Block::default() };
        block.latency.record(Latency::from_nanos(late));
        block
    }

    #[test]
    fn a_long_run_keeps_its_extremes_and_its_counts_in_bounded_memory() {
        let mut timeline = Timeline::default();
        (0..10_000).for_each(|second| timeline.add_block(&block(second, 1_000 + second)));
        let slices = timeline.slices();
        assert!((MOST_SLICES / 2..=MOST_SLICES).contains(&slices.len()), "{}", slices.len());
        assert_eq!(slices.iter().map(|slice| slice.columns.count()).sum::<u64>(), 10_000);
        assert_eq!((slices[0].min, slices.last().unwrap().max), (1_000, 10_999));
        let sizes: Vec<u64> = slices.iter().map(|slice| slice.columns.count()).collect();
        assert!(sizes[..sizes.len() - 1].iter().all(|size| *size == sizes[0]), "{sizes:?}");
        assert!(slices.windows(2).all(|pair| pair[0].until <= pair[1].from));
    }

    #[test]
    fn an_empty_block_leaves_no_slice() {
        let mut timeline = Timeline::default();
        timeline.add_block(&Block::default());
        assert!(timeline.slices().is_empty());
    }
}
