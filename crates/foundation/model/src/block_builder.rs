//! Builds blocks from the wake-ups of one thread.

use crate::{
    Block, IrregularMessages, Latency, MonotonicTime, SERIES_KEPT, SeriesPoint, Task, Wakeup, WakeupGrid,
};

/// Counts the wake-ups of a task's turn, and closes blocks on request.
#[derive(Debug)]
pub struct BlockBuilder {
    grid: Option<WakeupGrid>,
    /// How many more wake-ups can be stored in order.
    series_left: usize,
    block: Block,
    /// Lost wake-ups before the current block.
    lost_before: u64,
}

impl BlockBuilder {
    /// A builder for `task` whose first block begins at `from`.
    pub fn new(task: &Task, from: MonotonicTime) -> Self {
        let (condition, round) = (task.condition, task.round);
        Self {
            grid: task.work.period().map(WakeupGrid::endless),
            series_left: if task.keep_series { SERIES_KEPT } else { 0 },
            block: Block { condition, round, from, until: from, ..Block::default() },
            lost_before: 0,
        }
    }

    /// Plans no wake-up of periodic work after `until`.
    pub fn ending(self, until: MonotonicTime) -> Self {
        Self { grid: self.grid.map(|grid| WakeupGrid { until, ..grid }), ..self }
    }

    /// Counts one wake-up.
    pub fn record(&mut self, wakeup: Wakeup) {
        self.record_all(std::iter::once(wakeup));
    }

    /// Counts wake-ups, in order.
    pub fn record_all(&mut self, wakeups: impl Iterator<Item = Wakeup>) {
        if self.series_left == 0 {
            return self.block.record_all(wakeups, self.grid);
        }
        let (from, series, left) = (self.block.from, &mut self.block.series, &mut self.series_left);
        let mut points = std::mem::take(series);
        let keep = |wakeup: &Wakeup| {
            if *left > 0 {
                *left -= 1;
                let offset = wakeup.expected.as_nanos() - from.as_nanos();
                points.push(SeriesPoint(offset, wakeup.latency()));
            }
        };
        self.block.record_all(wakeups.inspect(keep), self.grid);
        self.block.series = points;
    }

    /// Counts the duration of a notifying call.
    pub fn record_send(&mut self, took: Latency) {
        self.block.send.get_or_insert_default().record(took);
    }

    /// Sets the number of wake-ups of the turn that were measured but lost so far.
    pub fn set_lost(&mut self, so_far: u64) {
        self.block.lost = so_far - self.lost_before;
    }

    /// Sets the irregular notifications of the turn.
    pub fn set_irregular(&mut self, irregular: IrregularMessages) {
        self.block.irregular = irregular;
    }

    /// The unfinished block.
    pub const fn current(&self) -> &Block {
        &self.block
    }

    /// Ends the current block at `now` and begins the next; `None` if it was empty.
    pub fn close(&mut self, now: MonotonicTime) -> Option<Block> {
        self.block.until = now;
        self.lost_before += self.block.lost;
        let nothing = self.block.latency.is_empty() && self.block.lost == 0 && self.block.irregular.is_none();
        let block = self.block.cut(now);
        (!nothing).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Latency, Policy, Span, Wait, Work};

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    fn wakeup(expected: i64, late: i64) -> Wakeup {
        Wakeup { expected: at(expected), ran: at(expected + late) }
    }

    fn builder(keep_series: bool) -> BlockBuilder {
        let task = Task {
            condition: 3,
            round: 1,
            work: Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_nanos(100) },
            policy: Policy::OTHER,
            dithered: false,
            clock: crate::WaitClock::Monotonic,
            slack: None,
            slice: None,
            cpu: None,
            samples: None,
            warm_up: 0,
            phase: Span::ZERO,
            keep_series,
        };
        BlockBuilder::new(&task, at(9_000))
    }

    #[test]
    fn blocks_hold_only_their_own_however_late_others_were() {
        let mut builder = builder(false);
        for late in [40, 1_000_000_000, 50, 8, 3_000_000, 60] {
            let all = [7, late];
            builder.record_all(all.into_iter().map(|late| wakeup(0, late)));
            let block = builder.close(at(10_000)).unwrap();
            let mut alone = crate::Distribution::default();
            all.iter().for_each(|late| alone.record(Latency::from_nanos(*late)));
            assert_eq!(block.latency, alone);
        }
    }

    // 9000  9300 +5  9400 +250    10000        11000
    // begun          swallows two closed       closed: nothing came
    #[test]
    fn a_block_holds_what_came_since_the_last_was_closed() {
        let mut builder = builder(true);
        builder.record_all([wakeup(9_300, 5), wakeup(9_400, 250)].into_iter());
        let block = builder.close(at(10_000)).unwrap();
        assert_eq!((block.condition, block.round, block.latency.count()), (3, 1, 2));
        assert_eq!((block.from, block.until, block.missed_periods), (at(9_000), at(10_000), 2));
        let point = |offset, late| SeriesPoint(offset, Latency::from_nanos(late));
        assert_eq!(block.series, [point(300, 5), point(400, 250)]);
        assert_eq!(builder.close(at(11_000)), None);
        builder.record(wakeup(11_500, 7));
        let next = builder.close(at(12_000)).unwrap();
        assert_eq!((next.from, next.series), (at(11_000), vec![point(500, 7)]));
    }

    #[test]
    fn losses_alone_make_a_block_and_count_once() {
        let mut builder = builder(false);
        builder.set_lost(4);
        assert_eq!(builder.close(at(10_000)).unwrap().lost, 4);
        builder.set_lost(4);
        assert_eq!(builder.close(at(11_000)), None);
        builder.set_lost(9);
        builder.record(wakeup(11_100, 1));
        let block = builder.close(at(12_000)).unwrap();
        assert_eq!((block.lost, block.series.len()), (5, 0));
    }

    #[test]
    fn no_more_than_the_first_wake_ups_are_kept_in_order() {
        let mut builder = builder(true);
        let count = i64::try_from(SERIES_KEPT).unwrap() + 5;
        builder.record_all((0..count).map(|number| wakeup(9_000 + 100 * number, 1)));
        let block = builder.close(at(9_000 + 100 * count)).unwrap();
        assert_eq!((block.series.len(), block.latency.count()), (SERIES_KEPT, count.unsigned_abs()));
    }
}
