//! Traced turns: their wake-ups are split into parts and do not count towards the result.

use howlate_model::{Line, Sink, Span, ThreadProgress, Wakeup};

use crate::display::Display;
use crate::joining::TurnJoiner;
use crate::recorder::{Intake, Recorder};
use crate::turn_load::{TurnLoads, UnderLoad};

/// The sink of a traced turn, which records only the causes of late wake-ups.
pub(crate) struct TracedTurn<'a, T> {
    recorder: &'a mut Recorder<T>,
    display: &'a mut Display,
    joining: TurnJoiner<'a>,
    load: UnderLoad,
}

impl<'a, T: Intake> TracedTurn<'a, T> {
    pub(crate) const fn begin(
        recorder: &'a mut Recorder<T>,
        display: &'a mut Display,
        joining: TurnJoiner<'a>,
        load: UnderLoad,
    ) -> Self {
        Self { recorder, display, joining, load }
    }

    /// Ends the turn. Only caveats about its load are recorded.
    pub(crate) fn end(self, loads: &mut TurnLoads) {
        let (lines, _) = self.load.end(loads);
        let caveats = lines.into_iter().filter(|line| matches!(line, Line::Caveat(_)));
        for line in caveats.chain(self.joining.end()) {
            self.recorder.keep(&line);
        }
    }
}

impl<T: Intake> Sink for TracedTurn<'_, T> {
    fn line(&mut self, line: Line) {
        if let Line::Started(started) = line {
            self.program_started(started.condition, started.in_force.tid, started.in_force.slack);
        }
    }

    fn progress(&mut self, threads: &[ThreadProgress]) {
        self.display.progress(threads, self.recorder.analysis());
        self.display.marks().iter().for_each(|mark| self.recorder.keep(mark));
        for line in self.joining.poll() {
            self.recorder.keep(&line);
        }
    }

    fn program_started(&mut self, condition: u32, tid: u32, slack: Span) {
        if let Err(caveat) = self.joining.started(condition, tid, slack) {
            self.recorder.caveat(*caveat);
        }
    }

    fn wants_wakeups(&self) -> bool {
        true
    }

    fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        self.joining.wakeups(thread, wakeups);
    }
}
