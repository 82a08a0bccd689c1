//! What trying came to.

use howlate_analyse::compare::{Arm, Track, Verdict};
use howlate_model::EndReason;
use howlate_render::{TuneReport, TunedProgram, Unrestored};

use crate::candidates::Candidates;
use crate::report;
use crate::search::Trying;

/// Everything that was found.
pub struct Found {
    pub(crate) candidates: Candidates,
    pub(crate) trying: Trying,
    pub(crate) track: Track,
    /// Files that were written for settings and hold something else than before; `None` where none was to be written.
    pub(crate) left: Option<Vec<Unrestored>>,
    pub(crate) program: Option<TunedProgram>,
}

/// Whether what was found can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliance {
    /// It came to its end, the baseline was not told from itself, and the machine is as it was.
    Sound,
    /// One of these does not hold.
    NotTrustworthy,
}

impl Found {
    /// The same as a report.
    pub fn report(&self) -> TuneReport<'_> {
        let report = report::build(&self.candidates, &self.trying, &self.track);
        TuneReport { left: self.left.clone(), program: self.program.clone(), ..report }
    }

    /// Whether it can be relied on.
    pub fn reliance(&self) -> Reliance {
        let is_whole = self.track.analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Done);
        let is_as_before = self.left.as_ref().is_none_or(Vec::is_empty);
        if is_whole && is_as_before && self.is_sound() { Reliance::Sound } else { Reliance::NotTrustworthy }
    }

    /// Whether the baseline was compared with itself and no difference found, and anything was tried.
    fn is_sound(&self) -> bool {
        let self_test = self.trying.self_test.as_ref().map(|trial| &trial.arms[0]);
        let was_tried = self.candidates.tried().next().is_some();
        was_tried && self_test.is_some_and(|arm| !is_alarm(arm)) && self.trying.needs.is_none()
    }

    /// Whether it was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.track.analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Interrupted)
    }

    /// What was typed for it, as the recording has it.
    pub fn arguments(&self) -> &[String] {
        &self.track.analysis.header.arguments
    }
}

fn is_alarm(arm: &Arm) -> bool {
    arm.tested.iter().any(|one| matches!(one.verdict, Verdict::Better | Verdict::Worse))
}
