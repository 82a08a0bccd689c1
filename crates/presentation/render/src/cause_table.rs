//! The causes of late wake-ups and their remedies, as rows for text, HTML and Markdown.

use howlate_analyse::cause::{OnlyIf, Why, WhyCause, only_if, remedy};
use howlate_model::{Finding, Latency, NO_TRACER, Policy};

use crate::cause_words::{cause_in_words, percent};
use crate::numbers::count;
use crate::only_if::with_condition;

/// Most causes shown; the JSON output has all.
const CAUSES_SHOWN: usize = 8;

/// The causes of one condition, largest first.
#[derive(Clone, Debug)]
pub struct CauseTable<'a> {
    /// Number of late wake-ups, and the unexplained share.
    pub sentence: String,
    /// One row per cause.
    pub rows: Vec<CauseRow<'a>>,
}

/// A cause with its columns.
#[derive(Clone, Debug)]
pub struct CauseRow<'a> {
    /// Name of the cause.
    pub cause: String,
    /// Share of the late time, 0 to 1.
    pub share: f64,
    /// Number of late wake-ups with this cause.
    wakeups: u64,
    /// Largest in one wake-up.
    pub(crate) largest: Latency,
    /// The finding of `howlate doctor` with the remedy.
    pub finding: Option<&'a Finding>,
    /// A precondition for the remedy to help, where no event shows whether it holds.
    only_if: Option<OnlyIf>,
    /// Whether a row above has the same finding.
    pub is_repeated: bool,
}

impl<'a> CauseTable<'a> {
    pub const HEADINGS: [&'static str; 4] = ["cause", "share", "wake-ups", "largest"];

    /// The causes of `why`, each with the finding that applies to a thread of this policy.
    pub fn new(why: &Why, policy: Policy, findings: &'a [Finding]) -> Self {
        let mut rows: Vec<CauseRow<'a>> = Vec::new();
        for cause in why.causes.iter().take(CAUSES_SHOWN) {
            let finding = remedy(cause, policy, findings);
            let is_repeated = rows
                .iter()
                .filter_map(|row| row.finding)
                .any(|existing| Some(&existing.id) == finding.map(|finding| &finding.id));
            rows.push(CauseRow::new(cause, finding, is_repeated));
        }
        Self { sentence: late_in_words(why), rows }
    }
}

impl<'a> CauseRow<'a> {
    fn new(cause: &WhyCause, finding: Option<&'a Finding>, is_repeated: bool) -> Self {
        Self {
            cause: cause_in_words(cause),
            share: cause.share,
            wakeups: cause.wakeups,
            largest: Latency::from_span(cause.max),
            finding,
            only_if: finding.and_then(|finding| only_if(cause, &finding.id)),
            is_repeated,
        }
    }

    /// The finding, in the first row to which it applies.
    pub fn first_finding(&self) -> Option<&'a Finding> {
        self.finding.filter(|_| !self.is_repeated)
    }

    /// The finding, with its precondition.
    pub fn found(&self, finding: &Finding) -> String {
        with_condition(finding, self.only_if)
    }

    /// The cells of the columns, `largest` with its unit.
    pub fn cells(&self) -> [String; 4] {
        self.cells_with(self.largest.to_string())
    }

    /// Like `cells`, with `largest` formatted by the caller.
    pub(crate) fn cells_with(&self, largest: String) -> [String; 4] {
        [self.cause.clone(), percent(self.share), count(self.wakeups), largest]
    }
}

/// Number of late wake-ups, and the unexplained share.
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
