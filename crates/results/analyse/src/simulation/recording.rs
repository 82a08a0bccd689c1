//! Recordings of simulated machines.

#![allow(clippy::cast_possible_truncation, reason = "simulated latencies are small")]

use howlate_model::{Block, Latency, Line, MonotonicTime, Policy, Span, Wait, Wakeup, Work};

use super::series::LatencyGenerator;
use crate::compare::Track;

/// The period of the simulated cyclic thread.
const PERIOD: Span = Span::from_millis(1);

/// An empty recording of cyclic conditions that differ in their policy.
pub(crate) fn track(conditions: usize) -> Track {
    let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: PERIOD };
    let mut track = track_of(&vec![work; conditions]);
    let policies = [Policy::OTHER, Policy::Batch].into_iter().cycle();
    track
        .analysis
        .header
        .conditions
        .iter_mut()
        .zip(policies)
        .for_each(|(condition, policy)| condition.policy = policy);
    track
}

/// An empty recording with a condition for each of `works`.
pub(crate) fn track_of(works: &[Work]) -> Track {
    Track::new(crate::testing::analysis_of(works).header)
}

/// An empty recording of cyclic conditions that differ in their timer slack.
pub(crate) fn track_by_slack(conditions: usize) -> Track {
    let mut header = track(conditions).analysis.header;
    for (condition, nanos) in header.conditions.iter_mut().zip(1..) {
        condition.policy = Policy::OTHER;
        condition.slack_ns = Some(Span::from_nanos(nanos));
    }
    Track::new(header)
}

/// A run on a simulated machine, with a clock.
pub(crate) struct SimulatedRun {
    pub(crate) latencies: LatencyGenerator,
    now: MonotonicTime,
}

impl SimulatedRun {
    pub(crate) fn new(latencies: LatencyGenerator) -> Self {
        Self { latencies, now: MonotonicTime::from_nanos(0) }
    }

    /// The blocks of a turn of `wakeups`, each later by `shift` nanoseconds.
    pub(crate) fn turn(&mut self, condition: u32, round: u32, wakeups: u64, shift: f64) -> Vec<Line> {
        self.blocks(condition, round, wakeups, shift).map(|block| Line::Block(Box::new(block))).collect()
    }

    /// Simulates the blocks of a turn one by one.
    pub(crate) fn blocks(
        &mut self,
        condition: u32,
        round: u32,
        wakeups: u64,
        shift: f64,
    ) -> impl Iterator<Item = Block> {
        let (start, mut remaining) = (self.now, wakeups);
        std::iter::from_fn(move || {
            let mut block = self.empty_block(condition, round);
            let length = howlate_model::block_length(block.from.since(start));
            while remaining > 0 {
                remaining -= 1;
                self.now = self.now.plus(PERIOD);
                let late = Latency::from_nanos((self.latencies.latency() + shift) as i64);
                let ran = MonotonicTime::from_nanos(self.now.as_nanos() + late.as_nanos());
                block.record(Wakeup { expected: self.now, ran }, None);
                if self.now.since(block.from) >= length {
                    break;
                }
            }
            block.until = self.now;
            (!block.latency.is_empty()).then_some(block)
        })
    }

    fn empty_block(&self, condition: u32, round: u32) -> Block {
        Block { condition, round, from: self.now, until: self.now, ..Block::default() }
    }
}
