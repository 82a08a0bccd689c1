//! The same as one JSON object. Names are public: add, never rename.

use std::collections::BTreeMap;

use howlate_analyse::compare::{Arm, Tested, Verdict};
use howlate_model::{Condition, Span, Write};
use serde::Serialize;

use super::setting::{Fate, Listed, PermanentWay};
use super::{ConfirmedNumber, Left, TuneReport, TuneRow, words};

const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    howlate: &'a str,
    command: &'static str,
    baseline: &'a Condition,
    goal: &'static str,
    confidence: f64,
    answer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    self_test: Option<SelfTest>,
    knobs: Vec<Knob<'a>>,
    recommended: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<ConfirmedSet<'a>>,
    /// The budget that it would take, where there was too little.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_budget_ns: Option<Span>,
    /// Whether every file that was written holds what it held before; read at the end.
    restored: bool,
    #[serde(skip_serializing_if = "<[Left]>::is_empty")]
    left: &'a [Left],
    caveats: Vec<String>,
}

#[derive(Serialize)]
struct SelfTest {
    verdict: &'static str,
    differences: BTreeMap<&'static str, Difference>,
}

#[derive(Serialize)]
struct Knob<'a> {
    #[serde(flatten)]
    setting: Setting<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    differences: BTreeMap<&'static str, Difference>,
    /// What it was tried without.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    without: &'a [String],
}

/// A setting, before anything is tried and after.
#[derive(Serialize)]
pub(super) struct Setting<'a> {
    knob: &'a str,
    scope: &'a str,
    what: &'a str,
    from: &'a str,
    to: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    writes: &'a [Write],
    cost: &'a str,
    permanent: &'a [PermanentWay],
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
    pub(super) fn of(one: &'a Listed, stage: Stage) -> Self {
        let is_ready = stage == Stage::Before && one.fate == Fate::Tried;
        Self {
            knob: one.knob,
            scope: one.scope,
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

#[derive(Serialize)]
struct Difference {
    difference_ns: f64,
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    p: f64,
    detectable_ns: Option<f64>,
    turns: usize,
    verdict: Verdict,
}

#[derive(Serialize)]
struct ConfirmedSet<'a> {
    knobs: &'a [String],
    #[serde(flatten)]
    numbers: BTreeMap<&'static str, &'a ConfirmedNumber>,
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
    let setting = Setting::of(&row.setting, Stage::After);
    Knob { setting, differences: differences(&row.tested), without: &row.without }
}

/// Everything that was found.
///
/// # Errors
///
/// None in practice.
pub fn tune_json(report: &TuneReport<'_>) -> serde_json::Result<String> {
    let numbers = |confirmed: &'_ super::Confirmed| -> Vec<&'static str> {
        confirmed.numbers.iter().map(|one| one.statistic.name()).collect()
    };
    let confirmed = report.confirmed.as_ref().map(|confirmed| ConfirmedSet {
        knobs: &confirmed.knobs,
        numbers: numbers(confirmed).into_iter().zip(&confirmed.numbers).collect(),
    });
    let left = report.left.as_deref().unwrap_or_default();
    let document = Document {
        format: FORMAT,
        howlate: &report.analysis.header.howlate,
        command: "tune",
        baseline: report.baseline,
        goal: report.goal.name(),
        confidence: report.confidence,
        answer: words::answer(report),
        self_test: report.self_test.map(self_test),
        knobs: report.rows.iter().map(knob).collect(),
        recommended: report.recommended(),
        confirmed,
        needs_budget_ns: report.needs,
        restored: left.is_empty(),
        left,
        caveats: report.analysis.caveats.iter().map(crate::caveats::caveat).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
