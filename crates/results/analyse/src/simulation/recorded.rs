//! What simulated machines leave in a recording.

#![allow(clippy::cast_possible_truncation, reason = "simulated latencies are small")]

use howlate_model::{Block, Latency, Line, MonotonicTime, Policy, Span, Wait, Wakeup, Work};

use super::series::Simulated;
use crate::compare::Track;

/// All of them wake a thread once per millisecond.
const PERIOD: Span = Span::from_millis(1);

/// A recording of cyclic conditions that differ in their policy, before anything was measured.
pub(crate) fn track(conditions: usize) -> Track {
    let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: PERIOD };
    let mut track = track_of(&vec![work; conditions]);
    let policies = [Policy::OTHER, Policy::Batch].into_iter().cycle();
    track.analysis.header.conditions.iter_mut().zip(policies).for_each(|(one, policy)| one.policy = policy);
    track
}

/// A recording of conditions that differ in what they do, before anything was measured.
pub(crate) fn track_of(works: &[Work]) -> Track {
    Track::new(crate::testing::analysis_of(works).header)
}

/// A recording of cyclic conditions that differ in their timer slack, before anything was measured.
pub(crate) fn track_by_slack(conditions: usize) -> Track {
    let mut header = track(conditions).analysis.header;
    for (condition, nanos) in header.conditions.iter_mut().zip(1..) {
        condition.policy = Policy::OTHER;
        condition.slack_ns = Some(Span::from_nanos(nanos));
    }
    Track::new(header)
}

/// A machine and the time on its clock.
pub(crate) struct Clocked {
    pub(crate) machine: Simulated,
    now: MonotonicTime,
}

impl Clocked {
    pub(crate) fn new(machine: Simulated) -> Self {
        Self { machine, now: MonotonicTime::from_nanos(0) }
    }

    /// A turn of `wakeups`, each later by `shift`, in the blocks that measuring would cut.
    pub(crate) fn turn(&mut self, condition: u32, round: u32, wakeups: u64, shift: f64) -> Vec<Line> {
        self.blocks(condition, round, wakeups, shift).map(|block| Line::Block(Box::new(block))).collect()
    }

    /// The same, one after the other.
    pub(crate) fn blocks(
        &mut self,
        condition: u32,
        round: u32,
        wakeups: u64,
        shift: f64,
    ) -> impl Iterator<Item = Block> {
        let (began, mut left) = (self.now, wakeups);
        std::iter::from_fn(move || {
            let mut block = self.begun(condition, round);
            let length = howlate_model::block_length(block.from.since(began));
            while left > 0 {
                left -= 1;
                self.now = self.now.plus(PERIOD);
                let late = Latency::from_nanos((self.machine.latency() + shift) as i64);
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

    fn begun(&self, condition: u32, round: u32) -> Block {
        Block { condition, round, from: self.now, until: self.now, ..Block::default() }
    }
}
