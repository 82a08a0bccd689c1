//! Loads of turns, and their lines in the recording.

use howlate_load::{EndedPart, LoadSample, RunningLoad, StartError};
use howlate_model::{Caveat, Line, Load, LoadBlock, LoadReport, MonotonicTime, Turn};
use howlate_procfs::{Root, idle_usage};

/// Starts the load of each turn, or reuses the load of the previous turn.
#[derive(Default)]
pub(crate) struct TurnLoads {
    /// Whether consecutive turns with the same load share it, so that it must become steady only once. Otherwise each turn
    /// starts a load of its own. That is necessary when turns change the machine, because the memory and the CPUs of a
    /// load may depend on when it was started.
    pub(crate) reuse_running: bool,
    /// The load of the previous turn.
    before: Option<(Load, RunningLoad)>,
}

impl TurnLoads {
    /// Returns the steady load of the next turn.
    pub(crate) fn begin(&mut self, load: &Load) -> Result<RunningLoad, StartError> {
        let same = self.before.take().and_then(|(of, running)| (of == *load).then_some(running));
        match same.and_then(RunningLoad::reuse) {
            Some(running) => Ok(running),
            None => RunningLoad::start(load).map(RunningLoad::wait_until_steady),
        }
    }

    /// Takes back the load of a finished turn.
    pub(crate) fn end(&mut self, load: Load, running: RunningLoad) {
        self.before = self.reuse_running.then_some((load, running));
    }
}

/// Idle states of the measured CPU.
struct IdleStates {
    cpu: u32,
    before: Vec<u64>,
}

impl IdleStates {
    /// `None` if threads are not bound to a single CPU, or if it has no idle states.
    fn begin(turn: &Turn) -> Option<Self> {
        let cpu = turn.tasks.first()?.cpu?;
        let before = idle_usage(&Root::live(), cpu);
        let is_one = turn.tasks.iter().all(|task| task.cpu == Some(cpu));
        (is_one && !before.is_empty()).then_some(Self { cpu, before })
    }

    /// How often each state was entered since the last call.
    fn since(&mut self) -> Vec<u64> {
        let now = idle_usage(&Root::live(), self.cpu);
        let before = std::mem::replace(&mut self.before, now);
        self.before.iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect()
    }
}

/// A running load and the turn that is measured under it.
pub(crate) struct UnderLoad {
    running: RunningLoad,
    load: Load,
    conditions: Vec<u32>,
    round: u32,
    idle: Option<IdleStates>,
    /// End of the most recent blocks.
    sampled_at: Option<MonotonicTime>,
}

impl UnderLoad {
    pub(crate) fn begin(running: RunningLoad, turn: &Turn) -> Self {
        Self {
            running,
            load: turn.load.clone(),
            conditions: turn.tasks.iter().map(|task| task.condition).collect(),
            round: turn.tasks.first().map_or(0, |task| task.round),
            idle: IdleStates::begin(turn),
            sampled_at: None,
        }
    }

    /// Lines about the load since the last sample; none if that was also taken for blocks that ended at `until`.
    pub(crate) fn sample(&mut self, until: MonotonicTime) -> Vec<Line> {
        if self.sampled_at.replace(until) == Some(until) { Vec::new() } else { self.lines() }
    }

    fn lines(&mut self) -> Vec<Line> {
        let sample = self.running.sample();
        let ended = self.running.newly_ended().into_iter().map(|EndedPart { part, reason, .. }| {
            Line::Caveat(Caveat::LoadEnded { load: part, words: reason })
        });
        std::iter::once(Line::Load(self.block(sample))).chain(ended).collect()
    }

    fn block(&mut self, sample: LoadSample) -> LoadBlock {
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

    /// Hands the load back to `loads`; returns the report on the load, and its lines if the turn had no blocks.
    pub(crate) fn end(mut self, loads: &mut TurnLoads) -> (Vec<Line>, Option<LoadReport>) {
        let lines = if self.sampled_at.is_none() { self.lines() } else { Vec::new() };
        let report = self.running.report();
        loads.end(self.load, self.running);
        (lines, report)
    }
}
