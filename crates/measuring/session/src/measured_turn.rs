//! Measured turns: their lines are the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{Line, MonotonicTime, Sink, ThreadProgress, TurnFinished, Wakeup};

use crate::display::Display;
use crate::policy_advice;
use crate::recorder::{Intake, Recorder};
use crate::turn_load::{TurnLoads, UnderLoad};
use crate::until::is_known_within_a_turn;
use crate::wakeup_file::WakeupFile;

/// The sink of a measured turn.
pub(crate) struct MeasuredTurn<'a, T> {
    recorder: &'a mut Recorder<T>,
    display: &'a mut Display,
    wakeups: Option<&'a mut WakeupFile>,
    load: UnderLoad,
    /// Set as soon as the stop rule is satisfied.
    enough: Arc<AtomicBool>,
    /// Threads that run side by side.
    threads: usize,
    /// Final lines of the threads, held back until the load has reported.
    finished: Vec<TurnFinished>,
}

impl<'a, T: Intake> MeasuredTurn<'a, T> {
    pub(crate) const fn begin(
        recorder: &'a mut Recorder<T>,
        display: &'a mut Display,
        wakeups: Option<&'a mut WakeupFile>,
        load: UnderLoad,
        enough: Arc<AtomicBool>,
    ) -> Self {
        Self { recorder, display, wakeups, load, enough, threads: 1, finished: Vec::new() }
    }

    /// Sets the number of threads that run side by side.
    pub(crate) const fn side_by_side(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Samples the load once for all threads whose block ended at `until`.
    fn sample_load(&mut self, until: MonotonicTime) {
        for line in self.load.sample(until) {
            self.recorder.keep(&line);
        }
    }

    /// Ends the turn; returns the conditions whose program failed.
    pub(crate) fn end(self, loads: &mut TurnLoads) -> Vec<u32> {
        let Self { recorder, load, finished, .. } = self;
        let (lines, report) = load.end(loads);
        lines.iter().for_each(|line| recorder.keep(line));
        let mut failed = Vec::new();
        for mut finished in finished {
            finished.load.clone_from(&report);
            let outcome = recorder.analysis().outcomes().get(finished.condition as usize);
            let is_program = outcome.is_some_and(|outcome| outcome.condition.work.runtime().is_some());
            if is_program && finished.error.is_some() {
                failed.push(finished.condition);
            }
            recorder.keep(&Line::Finished(finished));
        }
        failed
    }
}

impl<T: Intake> Sink for MeasuredTurn<'_, T> {
    fn line(&mut self, mut line: Line) {
        policy_advice::advise(&mut line, &self.recorder.analysis().header, self.threads);
        match line {
            Line::Finished(finished) => self.finished.push(finished),
            Line::Block(block) => {
                self.sample_load(block.until);
                self.wakeups.iter_mut().for_each(|file| file.block(&block));
                self.recorder.keep(&Line::Block(block));
                if is_known_within_a_turn(self.recorder.analysis()) {
                    self.enough.store(true, Ordering::Relaxed);
                }
            }
            line => self.recorder.keep(&line),
        }
    }

    fn progress(&mut self, threads: &[ThreadProgress]) {
        self.display.progress(threads, self.recorder.analysis());
        self.display.marks().iter().for_each(|mark| self.recorder.keep(mark));
    }

    fn wants_wakeups(&self) -> bool {
        self.wakeups.is_some()
    }

    fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        self.wakeups.iter_mut().for_each(|file| file.wakeups(thread, wakeups));
    }
}
