//! The JSON output of `howlate tune`. Names are public: add, never rename.

use std::collections::BTreeMap;

use howlate_analyse::compare::{Arm, Statistic, Tested, Verdict};
use howlate_model::{Condition, PermanentSetting, SettingWrite, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::setting::{SettingTrial, TrialStatus};
use super::{ConfirmedNumber, ConfirmedSettings, TuneReport, TuneRow, TunedProgram, Unrestored, wording};
use crate::bounded_json::answer_schema;

/// Version of the format.
pub(super) const FORMAT: u32 = 1;

/// What `howlate tune --json` prints after settings were tried.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Document")]
struct TuneDocument<'a> {
    /// Of these names: 1.
    format: u32,
    /// The version of the program.
    howlate: &'a str,
    /// Always `tune`.
    command: &'static str,
    /// The condition that settings were tried on, of the first thread.
    baseline: &'a Condition,
    /// The program that they were tried on from outside; absent where it was howlate's own threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a TunedProgram>,
    /// `p50`, `p99` or `max`: the number by which settings were judged first.
    goal: &'static str,
    /// Confidence of all statements about single settings together.
    confidence: f64,
    /// The answer in words.
    answer: String,
    /// The baseline against itself; absent where that was not done to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    self_test: Option<TuneSelfTest>,
    /// Every setting that there is.
    knobs: Vec<KnobEntry<'a>>,
    /// The names of those that help together, as was confirmed.
    recommended: Vec<&'a str>,
    /// The set that seemed to help, on turns of its own; absent where nothing seemed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<ConfirmedSet<'a>>,
    /// The budget that it would take, where there was too little.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_budget_ns: Option<Span>,
    /// Whether every file that was written holds what it held before; read at the end.
    restored: bool,
    /// Files that do not.
    #[serde(skip_serializing_if = "<[Unrestored]>::is_empty")]
    left: &'a [Unrestored],
    /// What else is to be known, in words.
    caveats: Vec<String>,
}

/// The baseline against itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SelfTest")]
struct TuneSelfTest {
    /// `not_distinguishable`, as it should be, or `different`.
    verdict: &'static str,
    /// Of each number, by its name.
    differences: BTreeMap<&'static str, TurnDifference>,
}

/// A setting, and what was found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Knob")]
struct KnobEntry<'a> {
    #[serde(flatten)]
    setting: SettingEntry<'a>,
    /// Of each number, by its name: with the setting minus without it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    differences: BTreeMap<&'static str, TurnDifference>,
    /// What it was tried without.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    without: &'a [String],
}

/// A setting, before anything is tried and after.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
pub(super) struct SettingEntry<'a> {
    /// Name of the setting.
    knob: &'a str,
    /// `thread`, `machine` or `boot`.
    scope: &'a str,
    /// What it does.
    what: &'a str,
    /// The value now; empty where there is none.
    from: &'a str,
    /// The value that is tried.
    to: &'a str,
    /// `tried`, `absent`, `not_permitted`, `boot_only`, `failed`, `in_force`, `not_tried` or `not_asked`; before anything is
    /// tried, `ready`.
    status: &'a str,
    /// Why it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// What is written for it, if it holds for the machine.
    writes: &'a [SettingWrite],
    /// What it costs others.
    cost: &'a str,
    /// Ways to have it for good.
    permanent: &'a [PermanentSetting],
    /// What takes the first of them back.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a str>,
}

/// Whether the trials are still to come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingStage {
    /// Settings to be tried are `ready`.
    Before,
    After,
}

impl<'a> SettingEntry<'a> {
    pub(super) fn new(trial: &'a SettingTrial, stage: ListingStage) -> Self {
        let is_ready = stage == ListingStage::Before && trial.status == TrialStatus::Tried;
        Self {
            knob: trial.knob,
            scope: trial.scope.name(),
            what: trial.what,
            from: &trial.from,
            to: &trial.to,
            status: if is_ready { "ready" } else { trial.status.name() },
            reason: trial.status.reason(),
            writes: &trial.writes,
            cost: trial.cost,
            permanent: &trial.permanent,
            undo: trial.permanent.first().map(|way| way.undo.as_str()),
        }
    }
}

/// A difference between turns, in nanoseconds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
struct TurnDifference {
    /// The estimate (Hodges–Lehmann).
    difference_ns: f64,
    /// The lower end of its interval; null where there are too few turns.
    low_ns: Option<f64>,
    /// The upper end.
    high_ns: Option<f64>,
    /// How probable so large a difference is by chance, corrected for all comparisons and looks.
    p: f64,
    /// The smallest difference that would have been found with a chance of at least 80 %; null where that is not known.
    detectable_ns: Option<f64>,
    /// Turns on each side.
    turns: usize,
    /// Pairs of turns that were left out, because one of them had too few wake-ups for this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    short_pairs: Option<usize>,
    /// What is said of it.
    verdict: Verdict,
}

/// A set of settings on turns that had no part in choosing it.
#[derive(Serialize, JsonSchema)]
struct ConfirmedSet<'a> {
    /// The names of the settings.
    knobs: &'a [String],
    /// The median of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<&'a ConfirmedNumber>,
    /// What 99 % of a turn's wake-ups are at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<&'a ConfirmedNumber>,
    /// The largest of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<&'a ConfirmedNumber>,
}

/// What is printed of the settings before anything is tried.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Listing")]
pub(super) struct ListingDocument<'a> {
    /// Of these names: 1.
    pub(super) format: u32,
    /// The version of the program.
    pub(super) howlate: &'a str,
    /// Always `tune`.
    pub(super) command: &'static str,
    /// Always true: nothing was changed.
    pub(super) dry_run: bool,
    /// The condition that settings would be tried on, of the first thread.
    pub(super) baseline: &'a Condition,
    /// How long it would take at most.
    pub(super) budget_ns: Span,
    /// Every setting that there is.
    pub(super) knobs: Vec<SettingEntry<'a>>,
}

/// What is printed after `--restore`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PutBack")]
pub(super) struct PutBackDocument<'a> {
    /// Of these names: 1.
    pub(super) format: u32,
    /// The version of the program.
    pub(super) howlate: &'a str,
    /// Always `tune`.
    pub(super) command: &'static str,
    /// Whether nothing is left changed.
    pub(super) restored: bool,
    /// What was found, in words.
    pub(super) caveats: Vec<String>,
}

/// What `howlate tune --json` prints.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "Tune")]
#[allow(dead_code, reason = "only its schema is used")]
enum TuneOutput<'a> {
    /// After settings were tried.
    Result(Box<TuneDocument<'a>>),
    /// What `--dry-run` would do.
    Listing(Box<ListingDocument<'a>>),
    /// What `--restore` put back.
    PutBack(PutBackDocument<'a>),
}

/// The JSON Schema of these objects, draft 2020-12; `docs/tune.schema.json` is a copy.
pub fn tune_schema() -> serde_json::Result<String> {
    answer_schema::<TuneOutput<'_>>()
}

fn differences(tested: &[Tested]) -> BTreeMap<&'static str, TurnDifference> {
    let entry = |tested: &Tested| {
        let interval = tested.interval_ns;
        let difference = TurnDifference {
            difference_ns: tested.difference_ns,
            low_ns: interval.map(|(low, _)| low),
            high_ns: interval.map(|(_, high)| high),
            p: tested.p_corrected,
            detectable_ns: tested.detectable_ns,
            turns: tested.units.1,
            short_pairs: Some(tested.short_pairs).filter(|short| *short > 0),
            verdict: tested.verdict,
        };
        (tested.statistic.name(), difference)
    };
    tested.iter().map(entry).collect()
}

fn self_test(arm: &Arm) -> TuneSelfTest {
    let verdict =
        if arm.tested.iter().any(wording::is_different) { "different" } else { "not_distinguishable" };
    TuneSelfTest { verdict, differences: differences(&arm.tested) }
}

fn knob(row: &TuneRow) -> KnobEntry<'_> {
    let setting = SettingEntry::new(&row.setting, ListingStage::After);
    KnobEntry { setting, differences: differences(&row.tested), without: &row.without }
}

fn confirmed(set: &ConfirmedSettings) -> ConfirmedSet<'_> {
    let number = |statistic: Statistic| set.numbers.iter().find(|number| number.statistic == statistic);
    let [p50, p99, max] = [Statistic::P50, Statistic::P99, Statistic::Max].map(number);
    ConfirmedSet { knobs: &set.knobs, p50, p99, max }
}

/// The JSON output after settings were tried.
pub fn tune_json(report: &TuneReport<'_>) -> serde_json::Result<String> {
    let left = report.left.as_deref().unwrap_or_default();
    let document = TuneDocument {
        format: FORMAT,
        howlate: &report.analysis.header.howlate,
        command: "tune",
        baseline: report.baseline,
        program: report.program.as_ref(),
        goal: report.goal.name(),
        confidence: report.confidence,
        answer: wording::answer(report),
        self_test: report.self_test.map(self_test),
        knobs: report.rows.iter().map(knob).collect(),
        recommended: report.recommended(),
        confirmed: report.confirmed.as_ref().map(confirmed),
        needs_budget_ns: report.needs,
        restored: left.is_empty(),
        left,
        caveats: report.analysis.caveats.iter().map(crate::caveats::caveat).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_published::assert_published;

    #[test]
    fn the_published_schema_is_that_of_the_code() {
        assert_published("tune.schema.json", &tune_schema().unwrap());
    }
}
