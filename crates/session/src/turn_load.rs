//! The load of one turn: what it did, as lines of the recording.

use howlate_load::{Ended, Running, Sample};
use howlate_model::{Caveat, Line, Load, LoadBlock, LoadReport, MonotonicTime, Turn};

use crate::loads::Loads;

/// A load under way, and what is measured under it.
pub(crate) struct UnderLoad {
    running: Running,
    load: Load,
    conditions: Vec<u32>,
    round: u32,
    /// End of the most recent blocks.
    sampled_at: Option<MonotonicTime>,
}

impl UnderLoad {
    pub(crate) fn begin(running: Running, turn: &Turn) -> Self {
        Self {
            running,
            load: turn.load.clone(),
            conditions: turn.tasks.iter().map(|task| task.condition).collect(),
            round: turn.tasks.first().map_or(0, |task| task.round),
            sampled_at: None,
        }
    }

    /// What the load did since the last sample, unless that was for blocks that ended at `until` too.
    pub(crate) fn sample(&mut self, until: MonotonicTime) -> Vec<Line> {
        if self.sampled_at.replace(until) == Some(until) { Vec::new() } else { self.lines() }
    }

    fn lines(&mut self) -> Vec<Line> {
        let sample = self.running.sample();
        let ended = self
            .running
            .ended()
            .into_iter()
            .map(|Ended { part, words, .. }| Line::Caveat(Caveat::LoadEnded { load: part, words }));
        std::iter::once(Line::Load(self.block(sample))).chain(ended).collect()
    }

    fn block(&self, sample: Sample) -> LoadBlock {
        LoadBlock {
            conditions: self.conditions.clone(),
            round: self.round,
            from: sample.from,
            until: sample.until,
            parts: sample.parts,
            context_switches: sample.context_switches,
            interrupts: sample.interrupts,
        }
    }

    /// What the load did in a turn without blocks, and in all. It ends, unless `loads` lets it go on.
    pub(crate) fn end(mut self, loads: &mut Loads) -> (Vec<Line>, Option<LoadReport>) {
        let lines = if self.sampled_at.is_none() { self.lines() } else { Vec::new() };
        let report = self.running.report();
        loads.end(self.load, self.running);
        (lines, report)
    }
}
