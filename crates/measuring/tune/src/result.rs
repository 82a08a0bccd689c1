//! The result of tuning, and of restoring settings that an earlier run left changed.

use howlate_analyse::compare::{Arm, Track, Verdict};
use howlate_model::{Caveat, EndReason};
use howlate_render::{TuneReport, TunedProgram, Unrestored};

use crate::candidates::TuneCandidates;
use crate::error::TuneError;
use crate::report;
use crate::search::Search;

pub struct TuneResult {
    pub(crate) candidates: TuneCandidates,
    pub(crate) search: Search,
    pub(crate) track: Track,
    /// Files that do not have their old value again; `None` if no file was to be written.
    pub(crate) unrestored: Option<Vec<Unrestored>>,
    pub(crate) program: Option<TunedProgram>,
}

/// Whether the result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// The run was complete, the self-test found no difference, and all settings were restored.
    Sound,
    /// One of these conditions is not met.
    NotTrustworthy,
}

impl TuneResult {
    pub fn report(&self) -> TuneReport<'_> {
        let report = report::build(&self.candidates, &self.search, &self.track);
        TuneReport { left: self.unrestored.clone(), program: self.program.clone(), ..report }
    }

    pub fn reliability(&self) -> Reliability {
        let is_complete = self.track.analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Done);
        let is_restored = self.unrestored.as_ref().is_none_or(Vec::is_empty);
        if is_complete && is_restored && self.is_sound() {
            Reliability::Sound
        } else {
            Reliability::NotTrustworthy
        }
    }

    /// Whether the self-test found no difference, and any setting was tried.
    fn is_sound(&self) -> bool {
        let self_test = self.search.self_test.as_ref().map(|trial| &trial.arms[0]);
        let has_tried = self.candidates.tried().next().is_some();
        has_tried && self_test.is_some_and(|arm| !has_difference(arm)) && self.search.needs.is_none()
    }

    pub fn is_interrupted(&self) -> bool {
        self.track.analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Interrupted)
    }

    /// The command line, from the recording.
    pub fn arguments(&self) -> &[String] {
        &self.track.analysis.header.arguments
    }
}

fn has_difference(arm: &Arm) -> bool {
    arm.tested.iter().any(|tested| matches!(tested.verdict, Verdict::Better | Verdict::Worse))
}

/// Settings that a killed howlate and its guardian left changed.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// What happened to each.
    pub caveats: Vec<Caveat>,
}

/// Restores settings that a killed howlate left changed.
///
/// # Errors
///
/// When another howlate is running, or the journal cannot be read.
pub fn restore() -> Result<RestoreReport, TuneError> {
    Ok(RestoreReport { caveats: howlate_guard::restore()? })
}

impl RestoreReport {
    /// Whether all were restored.
    pub fn is_complete(&self) -> bool {
        !self.caveats.iter().any(is_failure)
    }
}

const fn is_failure(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::SettingNotRestored { .. } | Caveat::GroupNotRemoved { .. })
}
