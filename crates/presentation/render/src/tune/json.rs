//! The same as one JSON object. Names are public: add, never rename.

use std::collections::BTreeMap;

use howlate_analyse::compare::{Arm, Statistic, Tested, Verdict};
use howlate_model::{Condition, PermanentSetting, SettingWrite, Span, schema_as_written};
use schemars::JsonSchema;
use serde::Serialize;

use super::setting::{Fate, Listed};
use super::{Confirmed, ConfirmedNumber, TuneReport, TuneRow, TunedProgram, Unrestored, words};

/// Of the names.
pub(super) const FORMAT: u32 = 1;

/// What `howlate tune --json` prints after settings were tried.
#[derive(Serialize, JsonSchema)]
struct Document<'a> {
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
    self_test: Option<SelfTest>,
    /// Every setting that there is.
    knobs: Vec<Knob<'a>>,
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
struct SelfTest {
    /// `not_distinguishable`, as it should be, or `different`.
    verdict: &'static str,
    /// Of each number, by its name.
    differences: BTreeMap<&'static str, Difference>,
}

/// A setting, and what was found.
#[derive(Serialize, JsonSchema)]
struct Knob<'a> {
    #[serde(flatten)]
    setting: Setting<'a>,
    /// Of each number, by its name: with the setting minus without it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    differences: BTreeMap<&'static str, Difference>,
    /// What it was tried without.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    without: &'a [String],
}

/// A setting, before anything is tried and after.
#[derive(Serialize, JsonSchema)]
pub(super) struct Setting<'a> {
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

/// When a setting is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// What is to be tried is `ready`.
    Before,
    After,
}

impl<'a> Setting<'a> {
    pub(super) fn new(one: &'a Listed, stage: Stage) -> Self {
        let is_ready = stage == Stage::Before && one.fate == Fate::Tried;
        Self {
            knob: one.knob,
            scope: one.scope.name(),
            what: one.what,
            from: &one.from,
            to: &one.to,
            status: if is_ready { "ready" } else { one.fate.name() },
            reason: one.fate.reason(),
            writes: &one.writes,
            cost: one.cost,
            permanent: &one.permanent,
            undo: one.permanent.first().map(|way| way.undo.as_str()),
        }
    }
}

/// A difference between turns, in nanoseconds.
#[derive(Serialize, JsonSchema)]
struct Difference {
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
pub(super) struct Listing<'a> {
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
    pub(super) knobs: Vec<Setting<'a>>,
}

/// What is printed after `--restore`.
#[derive(Serialize, JsonSchema)]
pub(super) struct PutBack<'a> {
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
enum Printed<'a> {
    /// After settings were tried.
    Result(Box<Document<'a>>),
    /// What `--dry-run` would do.
    Listing(Box<Listing<'a>>),
    /// What `--restore` put back.
    PutBack(PutBack<'a>),
}

/// The JSON Schema of these objects, draft 2020-12; `docs/tune.schema.json` is a copy.
pub fn tune_schema() -> serde_json::Result<String> {
    serde_json::to_string_pretty(&schema_as_written::<Printed<'_>>()).map(|text| text + "\n")
}

fn differences(tested: &[Tested]) -> BTreeMap<&'static str, Difference> {
    let one = |tested: &Tested| {
        let interval = tested.interval_ns;
        let difference = Difference {
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
    tested.iter().map(one).collect()
}

fn self_test(arm: &Arm) -> SelfTest {
    let verdict =
        if arm.tested.iter().any(words::is_different) { "different" } else { "not_distinguishable" };
    SelfTest { verdict, differences: differences(&arm.tested) }
}

fn knob(row: &TuneRow) -> Knob<'_> {
    let setting = Setting::new(&row.setting, Stage::After);
    Knob { setting, differences: differences(&row.tested), without: &row.without }
}

fn confirmed(set: &Confirmed) -> ConfirmedSet<'_> {
    let of = |statistic: Statistic| set.numbers.iter().find(|one| one.statistic == statistic);
    let [p50, p99, max] = [Statistic::P50, Statistic::P99, Statistic::Max].map(of);
    ConfirmedSet { knobs: &set.knobs, p50, p99, max }
}

/// Everything that was found.
pub fn tune_json(report: &TuneReport<'_>) -> serde_json::Result<String> {
    let left = report.left.as_deref().unwrap_or_default();
    let document = Document {
        format: FORMAT,
        howlate: &report.analysis.header.howlate,
        command: "tune",
        baseline: report.baseline,
        program: report.program.as_ref(),
        goal: report.goal.name(),
        confidence: report.confidence,
        answer: words::answer(report),
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
