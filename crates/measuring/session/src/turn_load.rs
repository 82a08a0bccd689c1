//! The load of one turn: what it did, as lines of the recording.

use howlate_load::{Ended, Running, Sample};
use howlate_model::{Caveat, Line, Load, LoadBlock, LoadReport, MonotonicTime, Turn};

use howlate_procfs::{Root, idle_usage};

use crate::loads::Loads;

/// The idle states of the one CPU that is measured.
struct IdleStates {
    cpu: u32,
    before: Vec<u64>,
}

impl IdleStates {
    /// `None` where threads are not bound to one CPU, or it has no such states.
    fn begin(turn: &Turn) -> Option<Self> {
        let cpu = turn.tasks.first()?.cpu?;
        let before = idle_usage(&Root::live(), cpu);
        let is_one = turn.tasks.iter().all(|task| task.cpu == Some(cpu));
        (is_one && !before.is_empty()).then_some(Self { cpu, before })
    }

    /// How often each was entered since the last time.
    fn since(&mut self) -> Vec<u64> {
        let now = idle_usage(&Root::live(), self.cpu);
        let before = std::mem::replace(&mut self.before, now);
        self.before.iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect()
    }
}

/// A load under way, and what is measured under it.
pub(crate) struct UnderLoad {
    running: Running,
    load: Load,
    conditions: Vec<u32>,
    round: u32,
    idle: Option<IdleStates>,
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
            idle: IdleStates::begin(turn),
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

    fn block(&mut self, sample: Sample) -> LoadBlock {
        LoadBlock {
            conditions: self.conditions.clone(),
            round: self.round,
            from: sample.from,
            until: sample.until,
            parts: sample.parts,
            context_switches: sample.context_switches,
            interrupts: sample.interrupts,
            idle_entries: self.idle.as_mut().map_or_else(Vec::new, IdleStates::since),
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
