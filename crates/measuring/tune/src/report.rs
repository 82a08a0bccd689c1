//! What trying came to, as a report.

use howlate_analyse::compare::{Statistic, StatisticLevel, Track, Trial, Verdict};
use howlate_guard::changed_value;
use howlate_model::{SettingWrite, SettingWriteKind};
use howlate_render::{Confirmed, ConfirmedNumber, Fate, Listed, TuneReport, TuneRow, Unrestored};

use crate::candidates::{Candidate, Candidates};
use crate::search::{BASELINE, CONFIDENCE, Confirming, Trying};

/// Everything that is known now, but for the program that it is known of, and what was left changed.
pub(crate) fn build<'a>(candidates: &Candidates, trying: &'a Trying, track: &'a Track) -> TuneReport<'a> {
    let confirmed = trying.confirming.as_ref().filter(|_| trying.is_done);
    let confirmed = confirmed.map(|one| (one, confirmed_set(one, trying, track)));
    let is_recommended = |place: usize| {
        confirmed
            .as_ref()
            .is_some_and(|(set, found)| set.candidates.contains(&place) && is_better(found, trying.goal()))
    };
    let row = |(place, one): (usize, &Candidate)| row(one, is_recommended(place), trying, track, place);
    TuneReport {
        baseline: &track.analysis.header.conditions[BASELINE],
        analysis: &track.analysis,
        goal: trying.goal(),
        confidence: CONFIDENCE,
        self_test: trying.self_test.as_ref().map(|trial| &trial.arms[0]),
        rows: candidates.all.iter().enumerate().map(row).collect(),
        confirmed: confirmed.map(|(_, found)| found),
        needs: trying.needs,
        left: None,
        program: None,
    }
}

fn row(one: &Candidate, recommended: bool, trying: &Trying, track: &Track, place: usize) -> TuneRow {
    let (fate, tested) = match (&one.fate, trying.found(place, track)) {
        (Fate::Tried, Some((_, Some(refusal)))) => (Fate::Failed(refusal), Vec::new()),
        (Fate::Tried, Some((arm, None))) if !arm.tested.is_empty() => (Fate::Tried, arm.tested.clone()),
        (Fate::Tried, _) => {
            let reason = if trying.is_done { "there was no time for it" } else { "it ended before that" };
            (Fate::Failed(reason.to_owned()), Vec::new())
        }
        (fate, _) => (fate.clone(), Vec::new()),
    };
    let without = if fate == Fate::Tried { trying.without(place, track) } else { Vec::new() };
    TuneRow { setting: Listed { fate, ..one.listed() }, tested, recommended, without }
}

/// Files that were written for settings and hold something else than before; `None` where none was to be written.
pub(crate) fn left_out(candidates: &Candidates) -> Option<Vec<Unrestored>> {
    let mut writes = candidates.writes();
    // What is only held open is gone with the file.
    writes.retain(|write| write.kind() == SettingWriteKind::Setting);
    let found = |write: SettingWrite| {
        let now = changed_value(&write)?;
        Some(Unrestored { path: write.path, before: write.now, now })
    };
    (!writes.is_empty()).then(|| writes.into_iter().filter_map(found).collect())
}

/// The set against the baseline on turns that had no part in choosing it, all numbers considered together.
fn confirmed_set(set: &Confirming, trying: &Trying, track: &Track) -> Confirmed {
    let (base, new) = (trying.indices(BASELINE), trying.indices(set.variant));
    let mut trial = Trial::new(1, trying.goal(), 1, CONFIDENCE);
    trial.look(track, &base, set.from, |_| new.clone());
    let level = |conditions: &[usize], statistic| {
        StatisticLevel::from_turns(track, conditions, set.from, statistic, CONFIDENCE)
    };
    let number = |tested: &howlate_analyse::compare::Tested| {
        let statistic = tested.statistic;
        let (before, after) = (level(&base, statistic)?, level(&new, statistic)?);
        Some(ConfirmedNumber { statistic, before, after, tested: tested.clone() })
    };
    Confirmed { knobs: set.names.clone(), numbers: trial.arms[0].tested.iter().filter_map(number).collect() }
}

/// Whether the set is better by the number that matters, or by another while that one is not worse.
fn is_better(confirmed: &Confirmed, goal: Statistic) -> bool {
    let verdict = |one: &ConfirmedNumber| one.tested.verdict;
    let of_goal = confirmed.numbers.iter().find(|one| one.statistic == goal).map(verdict);
    let any = confirmed.numbers.iter().any(|one| verdict(one) == Verdict::Better);
    of_goal == Some(Verdict::Better) || (any && of_goal != Some(Verdict::Worse))
}
