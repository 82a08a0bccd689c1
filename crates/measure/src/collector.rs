//! The observer's side of one measuring thread.

use std::sync::Arc;

use howlate_model::{
    Block, Distribution, InForce, Latency, MonotonicTime, Progress, SERIES_KEPT, SeriesPoint, Span, Task,
    Wakeup,
};

use crate::ring::Ring;

/// Empties a thread's ring into blocks.
pub(crate) struct Collector {
    ring: Arc<Ring>,
    period: Option<Span>,
    series_left: usize,
    lost_before: u64,
    block: Block,
    /// Up to the block's beginning.
    before: Progress,
    last: Latency,
}

impl Collector {
    pub(crate) fn new(task: &Task, ring: Arc<Ring>, in_force: &InForce, from_ns: MonotonicTime) -> Self {
        let (condition, round) = (task.condition, task.round);
        Self {
            ring,
            period: task.work.period(),
            series_left: if task.keep_series { SERIES_KEPT } else { 0 },
            lost_before: 0,
            block: Block { condition, round, from_ns, until_ns: from_ns, ..Block::default() },
            before: Progress::new(task, in_force),
            last: Latency::default(),
        }
    }

    /// Takes what has arrived; `also` sees each wake-up.
    pub(crate) fn drain(&mut self, mut also: impl FnMut(Wakeup)) {
        let ring = Arc::clone(&self.ring);
        ring.drain(|wakeup| {
            self.take(wakeup);
            also(wakeup);
        });
    }

    fn take(&mut self, wakeup: Wakeup) {
        self.last = wakeup.latency();
        self.block.record(wakeup, self.period);
        if self.series_left > 0 {
            self.series_left -= 1;
            let offset = wakeup.expected.as_nanos() - self.block.from_ns.as_nanos();
            self.block.series.push(SeriesPoint(offset, wakeup.latency()));
        }
    }

    /// How far the thread has come.
    pub(crate) fn progress(&self) -> Progress {
        let mut progress = self.before.clone();
        progress.add(&self.block);
        progress.last = self.last;
        progress
    }

    /// Ends the current block at `now` and begins the next; `None` if nothing happened in it.
    pub(crate) fn cut(&mut self, now: MonotonicTime) -> Option<Block> {
        let lost = self.ring.lost();
        self.block.lost = lost - self.lost_before;
        self.lost_before = lost;
        let (condition, round) = (self.block.condition, self.block.round);
        if self.block.latency.is_empty() && self.block.lost == 0 {
            self.block.from_ns = now;
            return None;
        }
        self.before.add(&self.block);
        let latency = Distribution::with_room_for(&self.block.latency);
        let next = Block { condition, round, from_ns: now, until_ns: now, latency, ..Block::default() };
        let mut block = std::mem::replace(&mut self.block, next);
        block.until_ns = now;
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::RingWriter;
    use howlate_model::{CpuSet, Policy, Wait, Work};

    fn wakeup(expected: i64, late: i64) -> Wakeup {
        let at = MonotonicTime::from_nanos;
        Wakeup { expected: at(expected), ran: at(expected + late) }
    }

    #[test]
    fn a_block_holds_what_came_since_the_last_cut() {
        let task = Task {
            condition: 3,
            round: 1,
            work: Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_nanos(100) },
            policy: Policy::OTHER,
            slack: None,
            cpu: None,
            samples: None,
            warm_up: 0,
            phase: Span::ZERO,
            keep_series: true,
        };
        let in_force = InForce {
            tid: 7,
            policy: Policy::OTHER,
            slack_ns: Span::ZERO,
            cpus: CpuSet::default(),
            memory_locked: false,
            dma_latency_us: None,
        };
        let ring = Ring::new(8);
        let mut writer = RingWriter::new(Arc::clone(&ring));
        let mut collector = Collector::new(&task, ring, &in_force, MonotonicTime::from_nanos(0));
        for (expected, late) in [(9_300, 5), (9_400, 250)] {
            writer.push(wakeup(expected, late));
        }
        let mut seen = 0;
        collector.drain(|_| seen += 1);
        assert_eq!(seen, 2);
        let block = collector.cut(MonotonicTime::from_nanos(10_000)).unwrap();
        assert_eq!((block.condition, block.round, block.latency.count()), (3, 1, 2));
        assert_eq!((block.missed_periods, collector.progress().missed), (2, 2));
        assert_eq!(
            block.series,
            [SeriesPoint(9_300, Latency::from_nanos(5)), SeriesPoint(9_400, Latency::from_nanos(250))]
        );
        assert_eq!(collector.cut(MonotonicTime::from_nanos(11_000)), None);
    }
}
