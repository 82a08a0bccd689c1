//! Who made the late wake-ups late, and what can be done about it, as rows: the terminal, the page and Markdown paint them.

use howlate_analyse::cause::{OnlyIf, Why, WhyCause, only_if, remedy};
use howlate_model::{Finding, Latency, NO_TRACER, Policy};

use crate::cause_words::{cause_in_words, percent};
use crate::numbers::count;
use crate::only_if::with_condition;

/// Causes that are shown; the JSON has all.
const CAUSES_SHOWN: usize = 8;

/// The causes of one condition, those that cost the most first.
#[derive(Clone, Debug)]
pub struct CauseTable<'a> {
    /// How many were late, and how much of that is not explained.
    pub sentence: String,
    /// One for each cause.
    pub rows: Vec<CauseRow<'a>>,
}

/// One cause, with its columns.
#[derive(Clone, Debug)]
pub struct CauseRow<'a> {
    /// Who it was.
    pub cause: String,
    /// Its share of the late time, 0 to 1.
    pub share: f64,
    /// In how many of the late wake-ups.
    wakeups: u64,
    /// The most in one.
    pub(crate) largest: Latency,
    /// What `howlate doctor` found that says what to do.
    pub finding: Option<&'a Finding>,
    /// What has to be so for that to help, where no event tells.
    only_if: Option<OnlyIf>,
    /// Whether a row above has the same finding.
    pub is_told_above: bool,
}

impl<'a> CauseTable<'a> {
    /// What stands above the cells of a row.
    pub const HEADINGS: [&'static str; 4] = ["cause", "share", "wake-ups", "largest"];

    /// The causes that `why` names, each with the nearest of `findings` for a thread of this policy.
    pub fn new(why: &Why, policy: Policy, findings: &'a [Finding]) -> Self {
        let mut rows: Vec<CauseRow<'a>> = Vec::new();
        for cause in why.causes.iter().take(CAUSES_SHOWN) {
            let finding = remedy(cause, policy, findings);
            let is_told_above = rows
                .iter()
                .filter_map(|row| row.finding)
                .any(|told| Some(&told.id) == finding.map(|one| &one.id));
            rows.push(CauseRow::new(cause, finding, is_told_above));
        }
        Self { sentence: late_in_words(why), rows }
    }
}

impl<'a> CauseRow<'a> {
    fn new(cause: &WhyCause, finding: Option<&'a Finding>, is_told_above: bool) -> Self {
        Self {
            cause: cause_in_words(cause),
            share: cause.share,
            wakeups: cause.wakeups,
            largest: Latency::from_span(cause.max),
            finding,
            only_if: finding.and_then(|one| only_if(cause, &one.id)),
            is_told_above,
        }
    }

    /// The finding at the first cause that it bears on.
    pub fn first_finding(&self) -> Option<&'a Finding> {
        self.finding.filter(|_| !self.is_told_above)
    }

    /// What was found, and what the advice depends on.
    pub fn found(&self, finding: &Finding) -> String {
        with_condition(finding, self.only_if)
    }

    /// What stands below the headings, the largest with its unit.
    pub fn cells(&self) -> [String; 4] {
        self.cells_with(self.largest.to_string())
    }

    /// The same, the largest as the table has it.
    pub(crate) fn cells_with(&self, largest: String) -> [String; 4] {
        [self.cause.clone(), percent(self.share), count(self.wakeups), largest]
    }
}

/// How many were late, and how much of that is not explained.
fn late_in_words(why: &Why) -> String {
    let late = &why.late;
    let what = if why.tracer == NO_TRACER { "iterations" } else { "traced wake-ups" };
    let unexplained = percent(late.unexplained_share());
    let above = Latency::from_span(late.above);
    let total = Latency::from_nanos(i64::try_from(late.total_ns).unwrap_or(i64::MAX));
    format!(
        "Slowest {what} (at least {above} late): {}, {total} late in total, {unexplained} of it unexplained. Causes:",
        count(late.count)
    )
}
