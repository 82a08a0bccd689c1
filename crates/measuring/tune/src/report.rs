//! The report of a search.

use howlate_analyse::compare::{Statistic, StatisticLevel, Track, Trial, Verdict};
use howlate_guard::changed_value;
use howlate_model::{SettingWrite, SettingWriteKind};
use howlate_render::{
    ConfirmedNumber, ConfirmedSettings, SettingTrial, TrialStatus, TuneReport, TuneRow, Unrestored,
};

use crate::candidates::{TuneCandidate, TuneCandidates};
use crate::search::{BASELINE, CONFIDENCE, Confirmation, Search};

/// The report so far, without the program and the files that were not restored.
pub(crate) fn build<'a>(candidates: &TuneCandidates, search: &'a Search, track: &'a Track) -> TuneReport<'a> {
    let confirmed = search.confirmation.as_ref().filter(|_| search.is_done);
    let confirmed = confirmed.map(|set| (set, confirmed_set(set, search, track)));
    let is_recommended = |place: usize| {
        confirmed
            .as_ref()
            .is_some_and(|(set, result)| set.candidates.contains(&place) && is_better(result, search.goal()))
    };
    let row = |(place, candidate): (usize, &TuneCandidate)| {
        row(candidate, is_recommended(place), search, track, place)
    };
    TuneReport {
        baseline: &track.analysis.header.conditions[BASELINE],
        analysis: &track.analysis,
        goal: search.goal(),
        confidence: CONFIDENCE,
        self_test: search.self_test.as_ref().map(|trial| &trial.arms[0]),
        rows: candidates.all.iter().enumerate().map(row).collect(),
        confirmed: confirmed.map(|(_, result)| result),
        needs: search.needs,
        left: None,
        program: None,
    }
}

fn row(
    candidate: &TuneCandidate,
    recommended: bool,
    search: &Search,
    track: &Track,
    place: usize,
) -> TuneRow {
    let (fate, tested) = match (&candidate.fate, search.result_of(place, track)) {
        (TrialStatus::Tried, Some((_, Some(refusal)))) => (TrialStatus::Failed(refusal), Vec::new()),
        (TrialStatus::Tried, Some((arm, None))) if !arm.tested.is_empty() => {
            (TrialStatus::Tried, arm.tested.clone())
        }
        (TrialStatus::Tried, _) => {
            let reason = if search.is_done { "there was no time for it" } else { "it ended before that" };
            (TrialStatus::Failed(reason.to_owned()), Vec::new())
        }
        (fate, _) => (fate.clone(), Vec::new()),
    };
    let without = if fate == TrialStatus::Tried { search.failures(place, track) } else { Vec::new() };
    TuneRow { setting: SettingTrial { status: fate, ..candidate.listed() }, tested, recommended, without }
}

/// Files that do not have their old value again; `None` if no file was to be written.
pub(crate) fn unrestored(candidates: &TuneCandidates) -> Option<Vec<Unrestored>> {
    let mut writes = candidates.writes();
    // A request ends when its file is closed.
    writes.retain(|write| write.kind() == SettingWriteKind::Setting);
    let difference = |write: SettingWrite| {
        let now = changed_value(&write)?;
        Some(Unrestored { path: write.path, before: write.now, now })
    };
    (!writes.is_empty()).then(|| writes.into_iter().filter_map(difference).collect())
}

/// The set against the baseline on turns that were not used to choose it, corrected for the number of statistics.
fn confirmed_set(set: &Confirmation, search: &Search, track: &Track) -> ConfirmedSettings {
    let (base, new) = (search.indices(BASELINE), search.indices(set.variant));
    let mut trial = Trial::new(1, search.goal(), 1, CONFIDENCE);
    trial.look(track, &base, set.first_round, |_| new.clone());
    let level = |conditions: &[usize], statistic| {
        StatisticLevel::from_turns(track, conditions, set.first_round, statistic, CONFIDENCE)
    };
    let number = |tested: &howlate_analyse::compare::Tested| {
        let statistic = tested.statistic;
        let (before, after) = (level(&base, statistic)?, level(&new, statistic)?);
        Some(ConfirmedNumber { statistic, before, after, tested: tested.clone() })
    };
    ConfirmedSettings {
        knobs: set.names.clone(),
        numbers: trial.arms[0].tested.iter().filter_map(number).collect(),
    }
}

/// Whether the set improves the goal, or another statistic without worsening the goal.
fn is_better(confirmed: &ConfirmedSettings, goal: Statistic) -> bool {
    let verdict = |number: &ConfirmedNumber| number.tested.verdict;
    let of_goal = confirmed.numbers.iter().find(|number| number.statistic == goal).map(verdict);
    let any = confirmed.numbers.iter().any(|number| verdict(number) == Verdict::Better);
    of_goal == Some(Verdict::Better) || (any && of_goal != Some(Verdict::Worse))
}
