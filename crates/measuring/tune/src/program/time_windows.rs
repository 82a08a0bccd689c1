//! Turns of a running program: time windows with different settings of its threads.

use std::collections::VecDeque;

use howlate_linux::clock;
use howlate_model::{
    AsText, Block, Caveat, EndReason, Engine, EngineError, Line, MonotonicTime, Sink, Span, Task, Turn,
    TurnControl, TurnEnd, TurnFailure, TurnFinished, TurnStarted, Work,
};
use howlate_watched_program::{WatchTarget, in_force};

use super::external_settings::{ExternalSettings, RequestedSettings};
use super::observer::{ObservedWakeup, ProgramObserver, ThreadOfProcess};

/// Polling interval.
const LOOK_EVERY: Span = Span::from_millis(20);
/// Time for settings to take effect before wake-ups count.
pub(super) const SETTLE: Span = Span::from_millis(50);
/// Time for the tracer to report the last sleeps.
const REPORT_DELAY: Span = Span::from_millis(20);
/// Windows for which late reports are still accepted.
const OPEN_WINDOWS: usize = 4;

/// The wake-ups of one turn, with a block per task.
struct TimeWindow {
    from: MonotonicTime,
    until: MonotonicTime,
    tasks: Vec<Task>,
    blocks: Vec<Block>,
}

/// A turn under way.
struct TurnState {
    settings: RequestedSettings,
    /// Threads to which the settings were applied, or could not be.
    threads: Vec<ThreadOfProcess>,
    caveats: Vec<Caveat>,
    how: EndReason,
}

/// Measures time windows of a program as turns.
pub(super) struct WindowEngine<'a> {
    observer: &'a mut ProgramObserver,
    subject: &'a mut WatchTarget,
    external: &'a mut ExternalSettings,
    /// The task of the baseline.
    base: Task,
    open_windows: VecDeque<TimeWindow>,
}

impl Engine for WindowEngine<'_> {
    fn takes(&self, turn: &Turn) -> bool {
        matches!(turn.tasks.first().map(|task| task.work), Some(Work::Watch { .. }))
    }

    fn run(
        &mut self,
        turn: &Turn,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError> {
        let settings = turn
            .tasks
            .first()
            .map_or_else(RequestedSettings::default, |task| RequestedSettings::difference(task, &self.base));
        self.collect();
        let threads = self.observer.chosen_threads();
        let how = match self.external.apply(&settings, &threads) {
            Ok(caveats) => {
                let state = TurnState { settings, threads, caveats, how: EndReason::Done };
                self.measure(turn, state, bounds, sink)
            }
            Err(reason) => {
                let caveats = self.external.undo();
                finish(turn, Some(reason), sink);
                write_caveats(caveats, sink)
            }
        };
        Ok(how.into())
    }
}

impl<'a> WindowEngine<'a> {
    pub(super) const fn new(
        observer: &'a mut ProgramObserver,
        subject: &'a mut WatchTarget,
        external: &'a mut ExternalSettings,
        base: Task,
    ) -> Self {
        Self { observer, subject, external, base, open_windows: VecDeque::new() }
    }

    fn measure(
        &mut self,
        turn: &Turn,
        mut state: TurnState,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> EndReason {
        self.wait(SETTLE, &mut state, bounds, sink);
        if state.how == EndReason::Done {
            let length = turn.duration.unwrap_or_default();
            self.open_window(turn, length);
            begin(turn, &state, sink);
            self.wait(length, &mut state, bounds, sink);
        }
        let restore_caveats = self.external.undo();
        drop(clock::sleep_for(REPORT_DELAY));
        self.collect();
        let changed = restore_caveats.iter().find_map(changed_setting);
        // An interrupted turn, or one with changed settings, does not count.
        if state.how != EndReason::Done || changed.is_some() {
            self.open_windows.retain(|window| window.tasks != turn.tasks);
        }
        self.write_blocks(sink);
        if state.how == EndReason::Done {
            finish(turn, changed, sink);
        }
        let how = write_caveats(
            restore_caveats.into_iter().filter(|caveat| !matches!(caveat, Caveat::SettingChanged { .. })),
            sink,
        );
        if how == EndReason::Done { state.how } else { how }
    }

    /// Lets the program run for `length`; applies the settings to new threads.
    fn wait(&mut self, length: Span, state: &mut TurnState, bounds: &TurnControl, sink: &mut dyn Sink) {
        let until = clock::now().plus(length);
        while state.how == EndReason::Done && clock::now() < until {
            self.collect();
            let mut new_threads = self.observer.chosen_threads();
            new_threads.retain(|thread| !state.threads.contains(thread));
            state.caveats.extend(self.external.apply_to_new(&state.settings, &new_threads));
            state.threads.extend(new_threads);
            sink.progress(&[]);
            if bounds.is_interrupted() {
                state.how = EndReason::Interrupted;
            } else if self.subject.has_ended(self.observer.threads()) {
                state.how = EndReason::ProgramEnded;
            } else {
                drop(clock::sleep_for(until.since(clock::now()).min(LOOK_EVERY)));
            }
        }
    }

    fn open_window(&mut self, turn: &Turn, length: Span) {
        let (from, until) = (clock::now(), clock::now().plus(length));
        let block = |task: &Task| Block {
            condition: task.condition,
            round: task.round,
            from,
            until,
            ..Block::default()
        };
        let blocks = turn.tasks.iter().map(block).collect();
        self.open_windows.push_back(TimeWindow { from, until, tasks: turn.tasks.clone(), blocks });
        self.open_windows.drain(..self.open_windows.len().saturating_sub(OPEN_WINDOWS));
    }

    /// A wake-up belongs to the turn in which it was planned, however late it is reported.
    fn collect(&mut self) {
        for observed in self.observer.look() {
            let is_in = |window: &&mut TimeWindow| {
                observed.settings_since >= window.from
                    && observed.wakeup.expected >= window.from
                    && observed.wakeup.expected < window.until
            };
            self.open_windows.iter_mut().find(is_in).into_iter().for_each(|window| window.record(observed));
        }
    }

    fn write_blocks(&mut self, sink: &mut dyn Sink) {
        for block in self.open_windows.iter_mut().flat_map(|window| &mut window.blocks) {
            let (condition, round) = (block.condition, block.round);
            let (from, until) = (block.from, block.until);
            let next = Block { condition, round, from, until, ..Block::default() };
            let block = std::mem::replace(block, next);
            if !block.latency.is_empty() {
                sink.line(Line::Block(Box::new(block)));
            }
        }
    }
}

impl TimeWindow {
    fn record(&mut self, observed: ObservedWakeup) {
        let work = Work::Watch { mechanism: observed.activation };
        let place = self.tasks.iter().position(|task| task.work == work);
        place.into_iter().for_each(|place| self.blocks[place].record(observed.wakeup, None));
    }
}

/// Records the settings in force for the first thread, with the failures, for each condition.
fn begin(turn: &Turn, state: &TurnState, sink: &mut dyn Sink) {
    let Some((tid, _)) = state.threads.first() else { return };
    let in_force = in_force(*tid, None);
    for task in &turn.tasks {
        let (sender_in_force, runtime, warm_up) = (None, None, None);
        sink.line(Line::Started(TurnStarted {
            condition: task.condition,
            round: task.round,
            at: clock::now(),
            in_force: in_force.clone(),
            sender_in_force,
            runtime,
            warm_up,
            caveats: state.caveats.clone(),
        }));
    }
}

/// Records the end of the turn, with the reason if it is invalid.
fn finish(turn: &Turn, error: Option<TurnFailure>, sink: &mut dyn Sink) {
    for task in &turn.tasks {
        sink.line(Line::Finished(TurnFinished {
            condition: task.condition,
            round: task.round,
            at: clock::now(),
            usage: None,
            unfinished: error.is_some(),
            load: None,
            error: error.clone().map(AsText::Value),
        }));
    }
}

/// A setting that another program changed, which makes the turn invalid.
fn changed_setting(caveat: &Caveat) -> Option<TurnFailure> {
    match caveat {
        Caveat::SettingChanged { path, set, found } => {
            Some(TurnFailure::SettingChanged { path: path.clone(), set: set.clone(), found: found.clone() })
        }
        _ => None,
    }
}

/// Records caveats. If something could not be restored, further turns would not be comparable.
fn write_caveats(caveats: impl IntoIterator<Item = Caveat>, sink: &mut dyn Sink) -> EndReason {
    let mut how = EndReason::Done;
    for caveat in caveats {
        if matches!(caveat, Caveat::SettingNotRestored { .. }) {
            how = EndReason::NotRestored;
        }
        sink.line(Line::Caveat(caveat));
    }
    how
}
