//! Turns of a program that goes on: windows of time, in each of which its threads have other settings.

use std::collections::VecDeque;

use howlate_linux::clock;
use howlate_model::{
    AsText, Block, Caveat, EndReason, Engine, EngineError, Line, MonotonicTime, Sink, Span, Task, Turn,
    TurnControl, TurnEnd, TurnFailure, TurnFinished, TurnStarted, Work,
};
use howlate_watched_program::{WatchTarget, in_force};

use super::external_settings::{Outside, RequestedSettings};
use super::observer::{ObservedWakeup, OfProgram, Sight};

/// How often it is looked.
const LOOK_EVERY: Span = Span::from_millis(20);
/// Time for settings to come into force before wake-ups count.
pub(super) const SETTLE: Span = Span::from_millis(50);
/// Time for the last sleeps to be told.
const TOLD_WITHIN: Span = Span::from_millis(20);
/// Windows of which something may still be told.
const OPEN: usize = 4;

/// The wake-ups of one turn, each task's apart.
struct Window {
    from: MonotonicTime,
    until: MonotonicTime,
    tasks: Vec<Task>,
    blocks: Vec<Block>,
}

/// A turn under way.
struct Course {
    asked: RequestedSettings,
    /// Threads that have what is asked, or cannot have it.
    given: Vec<OfProgram>,
    caveats: Vec<Caveat>,
    how: EndReason,
}

/// Takes windows of a program's time as turns.
pub(super) struct Windows<'a> {
    sight: &'a mut Sight,
    subject: &'a mut WatchTarget,
    outside: &'a mut Outside,
    /// The task of the baseline, without a change.
    base: Task,
    open: VecDeque<Window>,
}

impl Engine for Windows<'_> {
    fn takes(&self, turn: &Turn) -> bool {
        matches!(turn.tasks.first().map(|task| task.work), Some(Work::Watch { .. }))
    }

    fn run(
        &mut self,
        turn: &Turn,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError> {
        let asked = turn
            .tasks
            .first()
            .map_or_else(RequestedSettings::default, |task| RequestedSettings::by(task, &self.base));
        self.take_in();
        let given = self.sight.chosen();
        let how = match self.outside.apply(&asked, &given) {
            Ok(caveats) => {
                let course = Course { asked, given, caveats, how: EndReason::Done };
                self.take(turn, course, bounds, sink)
            }
            Err(reason) => {
                let caveats = self.outside.undo();
                finish(turn, Some(reason), sink);
                tell_caveats(caveats, sink)
            }
        };
        Ok(how.into())
    }
}

impl<'a> Windows<'a> {
    /// Of a program; `base` is a task of the baseline.
    pub(super) const fn new(
        sight: &'a mut Sight,
        subject: &'a mut WatchTarget,
        outside: &'a mut Outside,
        base: Task,
    ) -> Self {
        Self { sight, subject, outside, base, open: VecDeque::new() }
    }

    fn take(
        &mut self,
        turn: &Turn,
        mut course: Course,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> EndReason {
        self.go_on(SETTLE, &mut course, bounds, sink);
        if course.how == EndReason::Done {
            let length = turn.duration.unwrap_or_default();
            self.open(turn, length);
            begin(turn, &course, sink);
            self.go_on(length, &mut course, bounds, sink);
        }
        let back = self.outside.undo();
        drop(clock::sleep_for(TOLD_WITHIN));
        self.take_in();
        let changed = back.iter().find_map(changed);
        // What was cut, or was not what it was to be, is no turn.
        if course.how != EndReason::Done || changed.is_some() {
            self.open.retain(|window| window.tasks != turn.tasks);
        }
        self.hand_on(sink);
        if course.how == EndReason::Done {
            finish(turn, changed, sink);
        }
        let how =
            tell_caveats(back.into_iter().filter(|one| !matches!(one, Caveat::SettingChanged { .. })), sink);
        if how == EndReason::Done { course.how } else { how }
    }

    /// Lets the program go on for so long; threads that come are given what the others have.
    fn go_on(&mut self, length: Span, course: &mut Course, bounds: &TurnControl, sink: &mut dyn Sink) {
        let until = clock::now().plus(length);
        while course.how == EndReason::Done && clock::now() < until {
            self.take_in();
            let mut come = self.sight.chosen();
            come.retain(|thread| !course.given.contains(thread));
            course.caveats.extend(self.outside.also(&course.asked, &come));
            course.given.extend(come);
            sink.progress(&[]);
            if bounds.is_interrupted() {
                course.how = EndReason::Interrupted;
            } else if self.subject.has_ended(self.sight.threads()) {
                course.how = EndReason::ProgramEnded;
            } else {
                drop(clock::sleep_for(until.since(clock::now()).min(LOOK_EVERY)));
            }
        }
    }

    fn open(&mut self, turn: &Turn, length: Span) {
        let (from, until) = (clock::now(), clock::now().plus(length));
        let block = |task: &Task| Block {
            condition: task.condition,
            round: task.round,
            from,
            until,
            ..Block::default()
        };
        let blocks = turn.tasks.iter().map(block).collect();
        self.open.push_back(Window { from, until, tasks: turn.tasks.clone(), blocks });
        self.open.drain(..self.open.len().saturating_sub(OPEN));
    }

    /// What was seen belongs to the turn in which it was to happen, however late it is told.
    fn take_in(&mut self) {
        for seen in self.sight.look() {
            let is_in = |window: &&mut Window| {
                seen.since >= window.from
                    && seen.wakeup.expected >= window.from
                    && seen.wakeup.expected < window.until
            };
            self.open.iter_mut().find(is_in).into_iter().for_each(|window| window.take(seen));
        }
    }

    fn hand_on(&mut self, sink: &mut dyn Sink) {
        for block in self.open.iter_mut().flat_map(|window| &mut window.blocks) {
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

impl Window {
    fn take(&mut self, seen: ObservedWakeup) {
        let work = Work::Watch { mechanism: seen.activation };
        let place = self.tasks.iter().position(|task| task.work == work);
        place.into_iter().for_each(|place| self.blocks[place].record(seen.wakeup, None));
    }
}

/// What the first thread is subject to now, for each condition, with what could not be had.
fn begin(turn: &Turn, course: &Course, sink: &mut dyn Sink) {
    let Some((tid, _)) = course.given.first() else { return };
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
            caveats: course.caveats.clone(),
        }));
    }
}

/// The turn is over; with what it is worth nothing for, if so.
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

/// That somebody else has changed a setting, so that a turn was not what it was to be.
fn changed(caveat: &Caveat) -> Option<TurnFailure> {
    match caveat {
        Caveat::SettingChanged { path, set, found } => {
            Some(TurnFailure::SettingChanged { path: path.clone(), set: set.clone(), found: found.clone() })
        }
        _ => None,
    }
}

/// Tells what else is to be known; where something could not be put back, no turn to come would be of the same program.
fn tell_caveats(caveats: impl IntoIterator<Item = Caveat>, sink: &mut dyn Sink) -> EndReason {
    let mut how = EndReason::Done;
    for caveat in caveats {
        if matches!(caveat, Caveat::SettingNotRestored { .. }) {
            how = EndReason::NotRestored;
        }
        sink.line(Line::Caveat(caveat));
    }
    how
}
