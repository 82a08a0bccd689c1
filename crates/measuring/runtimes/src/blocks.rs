//! Checks the readings of a probe and collects them into blocks.

use howlate_model::{Block, BlockBuilder, MonotonicTime, Span, Task, Wakeup};

use crate::error::ProtocolError;

/// Duration of a block.
const BLOCK_DURATION: Span = Span::from_secs(1);

/// Collects the wake-ups of a turn.
pub(crate) struct BlockCollector {
    length: Span,
    blocks: BlockBuilder,
    warm_up_left: u64,
    count: u64,
    /// End of the latest sleep: the next one cannot start before.
    last_end: MonotonicTime,
}

impl BlockCollector {
    /// A collector for `task`, whose program was started at `from`.
    pub(crate) fn new(task: &Task, from: MonotonicTime) -> Self {
        Self {
            length: task.work.length(),
            blocks: BlockBuilder::new(task, from),
            warm_up_left: task.warm_up,
            count: 0,
            last_end: from,
        }
    }

    /// Adds a sleep; returns its due time and its end, or `None` during warm-up.
    ///
    /// # Errors
    ///
    /// When the readings are later than `now` or out of order.
    pub(crate) fn take(
        &mut self,
        start: MonotonicTime,
        end: MonotonicTime,
        now: MonotonicTime,
    ) -> Result<Option<Wakeup>, ProtocolError> {
        let (begins, ends) = (start.as_nanos(), end.as_nanos());
        if start < self.last_end || end < start || end > now {
            let (before, now) = (self.last_end.as_nanos(), now.as_nanos());
            return Err(ProtocolError::OutOfOrder { begins, ends, before, now });
        }
        self.last_end = end;
        if self.warm_up_left > 0 {
            self.warm_up_left -= 1;
            return Ok(None);
        }
        let wakeup = Wakeup { expected: start.plus(self.length), ran: end };
        self.count += 1;
        self.blocks.record(wakeup);
        Ok(Some(wakeup))
    }

    /// Number of sleeps so far.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Closes the current block if it is due at `now`; `None` if it is not due or empty.
    pub(crate) fn close_if_due(&mut self, now: MonotonicTime) -> Option<Block> {
        if now.since(self.blocks.current().from) >= BLOCK_DURATION { self.close(now) } else { None }
    }

    /// Closes the current block; `None` if it is empty.
    pub(crate) fn close(&mut self, now: MonotonicTime) -> Option<Block> {
        self.blocks.close(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Latency, Runtime, SeriesPoint, Sleeper, Work};

    fn blocks(warm_up: u64) -> BlockCollector {
        let work = Work::Sleep { mechanism: Sleeper::Runtime(Runtime::C), target_ns: Span::from_nanos(100) };
        let (condition, round, samples) = (3, 1, Some(9));
        let task = Task { condition, round, samples, warm_up, keep_series: true, ..Task::new(work) };
        BlockCollector::new(&task, at(1_000))
    }

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    // 1000      1010 … 1110 +7      1200 … 1300 +50
    // started   warm-up             counted
    #[test]
    fn latency_is_what_a_sleep_took_beyond_its_length() {
        let mut blocks = blocks(1);
        assert_eq!(blocks.take(at(1_010), at(1_117), at(2_000)), Ok(None));
        let wakeup = Wakeup { expected: at(1_300), ran: at(1_350) };
        assert_eq!(blocks.take(at(1_200), at(1_350), at(2_000)), Ok(Some(wakeup)));
        let block = blocks.close(at(2_000)).unwrap();
        assert_eq!((block.condition, block.round, block.latency.count(), blocks.count()), (3, 1, 1, 1));
        assert_eq!(block.series, [SeriesPoint(300, Latency::from_nanos(50))]);
        assert_eq!(blocks.close(at(3_000)), None);
    }

    #[test]
    fn readings_of_another_clock_are_refused() {
        for (start, end) in [(900, 1_100), (1_300, 1_200), (1_100, 2_001)] {
            let error = blocks(0).take(at(start), at(end), at(2_000)).unwrap_err().to_string();
            assert!(error.contains("CLOCK_MONOTONIC"), "{error}");
        }
        let mut twice = blocks(0);
        twice.take(at(1_100), at(1_200), at(2_000)).unwrap();
        assert!(twice.take(at(1_100), at(1_200), at(2_000)).is_err());
    }
}
