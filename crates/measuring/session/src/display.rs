//! Progress display of a measurement.

use howlate_analyse::Analysis;
use howlate_analyse::sequential::progress_of;
use howlate_linux::clock;
use howlate_model::{Condition, CpuSet, Line, Mark, MonotonicTime, Span, ThreadProgress, Turn};
use howlate_procfs::{LoadAverage, Root};
use howlate_render::{
    RunState, Screen, Stage, ThreadSoFar, TuneStage, live, live_overview, progress, until_progress,
};

use crate::pace::Pace;

/// Interval between updates of the display.
const UPDATE_INTERVAL: Span = Span::from_millis(250);

/// Shorter turns are not shown: nobody could read their figures.
const MIN_SHOWN_TURN: Span = Span::from_millis(400);

/// With more threads than this, they are not listed one by one.
const MOST_ROWS: usize = 40;

/// Shows progress if there is a screen.
pub(crate) struct Display {
    screen: Option<Box<dyn Screen>>,
    conditions: Vec<Condition>,
    turns: usize,
    turn: usize,
    now: usize,
    /// Planned time of the remaining turns including the current one, and of the current one.
    left: Span,
    current: Span,
    turn_began: MonotonicTime,
    pace: Pace,
    /// The current stage and its start, in runs with stages.
    stage: Option<(Stage, MonotonicTime)>,
    next: MonotonicTime,
    /// CPUs for the display, away from the measured ones; `None`: any.
    away: Option<CpuSet>,
}

impl Display {
    pub(crate) fn new(screen: Option<Box<dyn Screen>>) -> Self {
        Self {
            screen,
            conditions: Vec::new(),
            turns: 0,
            turn: 0,
            now: 0,
            left: Span::ZERO,
            current: Span::ZERO,
            turn_began: clock::now(),
            pace: Pace::default(),
            stage: None,
            next: MonotonicTime::default(),
            away: None,
        }
    }

    /// Adds turns, with conditions that follow the known ones.
    pub(crate) fn add(&mut self, conditions: &[Condition], turns: &[Turn]) {
        self.conditions.extend_from_slice(conditions);
        self.turns += turns.len();
        let more = turns.iter().fold(Span::ZERO, |sum, turn| sum.plus(turn.estimate));
        self.left = self.left.plus(more);
    }

    /// Starts a stage; turns that are added from now on belong to it.
    pub(crate) fn stage_begins(&mut self, stage: Stage) {
        self.stage = Some((stage, clock::now()));
        (self.turn, self.turns) = (0, 0);
    }

    /// Interval between updates; `None` without a screen.
    pub(crate) fn changes_every(&self) -> Option<Span> {
        self.screen.is_some().then_some(UPDATE_INTERVAL)
    }

    pub(crate) fn turn_begins(&mut self, turn: &Turn) {
        let now = clock::now();
        if !self.current.is_zero() {
            self.pace.turn_took(self.current, now.since(self.turn_began));
        }
        self.left = self.left.minus(self.current);
        self.turn += 1;
        self.now = turn.tasks.first().map_or(0, |task| task.condition as usize);
        self.current = turn.estimate;
        self.turn_began = now;
    }

    /// Limits the display to these CPUs during the turn.
    pub(crate) fn keep_to(&mut self, cpus: Option<CpuSet>) {
        self.away = cpus;
    }

    /// Shows the progress of threads; `so_far` has the results of all turns.
    pub(crate) fn progress(&mut self, threads: &[ThreadProgress], so_far: &Analysis) {
        let now = clock::now();
        let Some(width) = self.screen.as_ref().map(|screen| screen.width()).filter(|_| now >= self.next)
        else {
            return;
        };
        self.next = now.plus(UPDATE_INTERVAL);
        if self.draw(threads, so_far, now) {
            return;
        }
        let text = self.text(threads, so_far, now, width);
        self.screen.iter_mut().for_each(|screen| screen.show(&text));
    }

    /// Marks that the user has set since the last call, as lines of the recording.
    pub(crate) fn marks(&mut self) -> Vec<Line> {
        let marks = self.screen.iter_mut().flat_map(|screen| screen.marks());
        marks.map(|at| Line::Mark(Mark { at })).collect()
    }

    /// Draws a live screen; `false` if the screen only shows text.
    fn draw(&mut self, threads: &[ThreadProgress], so_far: &Analysis, now: MonotonicTime) -> bool {
        let run = RunState {
            analysis: so_far,
            threads,
            now: self.conditions.get(self.now),
            stage: self.which(),
            turns: Some([self.turn, self.turns]),
            lasts: Span::ZERO,
            time: Some(self.time_at(now)),
            away: self.away.as_ref(),
        };
        self.screen.as_mut().is_some_and(|screen| screen.draw(&run))
    }

    fn which(&self) -> Option<TuneStage> {
        self.stage.map(|(stage, _)| stage.which)
    }

    /// Remaining and total time: in runs with stages the maximum, otherwise an estimate from the pace of the turns.
    fn time_at(&self, now: MonotonicTime) -> [Span; 2] {
        if let Some((stage, began)) = self.stage {
            return [stage.left.minus(now.since(began)), stage.whole];
        }
        let of_turn = now.since(self.turn_began).min(self.pace.takes(self.current));
        let left = self.pace.takes(self.left).minus(of_turn);
        [left, self.pace.took().plus(of_turn).plus(left)]
    }

    fn text(
        &self,
        threads: &[ThreadProgress],
        so_far: &Analysis,
        now: MonotonicTime,
        width: usize,
    ) -> String {
        let status = self.conditions.get(self.now).map_or_else(String::new, |condition| {
            progress(self.which(), [self.turn, self.turns], condition, self.time_at(now), width)
        });
        let rows = threads.iter().filter_map(|thread| row(thread, so_far)).take(MOST_ROWS);
        let rows: Vec<ThreadSoFar<'_>> = rows.collect();
        let until = progress_of(so_far)
            .map_or_else(String::new, |found| format!("{}\n", until_progress(&found, width)));
        if self.current < MIN_SHOWN_TURN {
            return format!("{until}{status}\n{}", live_overview(so_far, width));
        }
        if rows.is_empty() {
            return until + &status;
        }
        let status = until + &status;
        format!("{status}\n{}", live(&rows, &LoadAverage::read(&Root::live()).to_string(), width))
    }

    pub(crate) fn clear(&mut self) {
        self.screen.iter_mut().for_each(|screen| screen.clear());
    }
}

/// The results so far of the condition of a thread.
fn row<'a>(progress: &ThreadProgress, so_far: &'a Analysis) -> Option<ThreadSoFar<'a>> {
    let so_far = so_far.outcomes().get(progress.condition as usize)?;
    Some(ThreadSoFar { so_far, last: (progress.count > 0).then_some(progress.last) })
}
