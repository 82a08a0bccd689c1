//! Where the progress of a run is shown.

use howlate_analyse::Analysis;
use howlate_model::{Condition, CpuSet, MonotonicTime, Span, ThreadProgress};

use crate::stage::TuneStage;

/// State of a running measurement.
#[derive(Clone, Copy, Debug)]
pub struct RunState<'a> {
    /// All recorded results so far.
    pub analysis: &'a Analysis,
    /// Threads of the current turn.
    pub threads: &'a [ThreadProgress],
    /// The condition that is measured; `None` between turns.
    pub now: Option<&'a Condition>,
    /// The stage of a run with several; turns are those of the stage, the time is that of all stages.
    pub stage: Option<TuneStage>,
    /// Number of the turn, from 1, and of all turns; `None` without turns.
    pub turns: Option<[usize; 2]>,
    /// Duration so far; zero for runs with turns.
    pub lasts: Span,
    /// Remaining and total time; `None` if unknown.
    pub time: Option<[Span; 2]>,
    /// CPUs that are not measured; `None`: any.
    pub away: Option<&'a CpuSet>,
}

/// A place for text that is replaced, such as lines of a terminal.
pub trait Screen {
    fn show(&mut self, text: &str);
    fn clear(&mut self);
    fn width(&self) -> usize;
    /// Draws the run in its own way; false if it only shows text.
    fn draw(&mut self, _run: &RunState<'_>) -> bool {
        false
    }
    /// Moments that the user has marked since the last call.
    fn marks(&mut self) -> Vec<MonotonicTime> {
        Vec::new()
    }
}
