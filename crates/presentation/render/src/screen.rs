//! Where is shown what changes.

use howlate_analyse::Analysis;
use howlate_model::{Condition, CpuSet, MonotonicTime, Span, ThreadProgress};

use crate::stage::TuneStage;

/// A run while it goes on.
#[derive(Clone, Copy, Debug)]
pub struct SoFar<'a> {
    /// What has been recorded of all turns.
    pub analysis: &'a Analysis,
    /// The threads of the current turn.
    pub threads: &'a [ThreadProgress],
    /// What is measured now; `None` between turns, and where there are none.
    pub now: Option<&'a Condition>,
    /// Where there are several stages, which it is: the turns are those of the stage, and the time is at most that of all stages.
    pub stage: Option<TuneStage>,
    /// Which turn it is, from 1, and how many there are; `None` where there are none.
    pub turns: Option<[usize; 2]>,
    /// How long it has lasted; nothing where there are turns.
    pub lasts: Span,
    /// The time that is left, and the whole; `None` where nobody knows.
    pub time: Option<[Span; 2]>,
    /// CPUs away from what is measured; `None`: any.
    pub away: Option<&'a CpuSet>,
}

/// A place for text that is replaced, such as some lines of a terminal.
pub trait Screen {
    /// Shows `text` where the last one was.
    fn show(&mut self, text: &str);
    /// Removes the text.
    fn clear(&mut self);
    /// Columns to fill.
    fn width(&self) -> usize;
    /// Shows a run in its own way; false where it only shows text.
    fn draw(&mut self, _run: &SoFar<'_>) -> bool {
        false
    }
    /// Moments that somebody who watched it has marked since the last time.
    fn marks(&mut self) -> Vec<MonotonicTime> {
        Vec::new()
    }
}
