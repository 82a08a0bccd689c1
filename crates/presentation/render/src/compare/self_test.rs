//! `howlate compare --with-itself`: the rate of false alarms, as text and JSON.

use howlate_analyse::compare::{FalseAlarms, TrialShare};
use howlate_model::{Condition, Span};
use serde::Serialize;

use super::wording;
use crate::condition::condition;
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::table::TextTable;

/// Result of comparing a condition with itself.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonSelfTest<'a> {
    /// The condition that was measured.
    pub condition: &'a Condition,
    /// Confidence of each comparison.
    pub confidence: f64,
    /// Length of a turn.
    pub turn_ns: Span,
    /// Turns of each side.
    pub rounds: u32,
    /// False alarms per statistic.
    pub false_alarms: &'a [FalseAlarms],
}

/// A table of the rates, and what they mean.
pub fn self_test(test: &ComparisonSelfTest<'_>, width: usize) -> String {
    let headings = ["false alarms", "interleaved", "", "one after the other", ""];
    let mut table = TextTable::new(&headings.map(str::to_owned), 1);
    for alarms in test.false_alarms {
        let statistic =
            wording::statistic(alarms.statistic, howlate_analyse::compare::Design::Interleaved).to_owned();
        let (a, b) = (alarms.interleaved, alarms.one_after_the_other);
        table.row(vec![statistic, share(a), interval(a), share(b), interval(b)]);
    }
    let title = paint(HEADING, "howlate compare --with-itself");
    let about = format!(
        "The same condition against itself: {} turns of {} on each side, split into comparisons of 8 pairs. If all is well, {} of them say \"different\".",
        test.rounds,
        rough(test.turn_ns),
        wording::percent_of(1.0 - test.confidence)
    );
    let about = paint(DIM, wrapped(&about, width, 0));
    format!(
        "{title} · {}\n{about}\n\n{}\n{}\n",
        condition(test.condition),
        table.text(width),
        wrapped(&meaning(test), width, 0)
    )
}

fn share(share: TrialShare) -> String {
    format!("{} of {}", share.found, share.trials)
}

fn interval(share: TrialShare) -> String {
    let (low, high) = share.interval;
    format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high)
}

fn meaning(test: &ComparisonSelfTest<'_>) -> String {
    let expected = 1.0 - test.confidence;
    let holds = |share: TrialShare| share.interval.0 <= expected;
    let interleaved = test.false_alarms.iter().all(|alarms| holds(alarms.interleaved));
    let separate = test.false_alarms.iter().all(|alarms| holds(alarms.one_after_the_other));
    match (interleaved, separate) {
        (true, true) => "Comparisons can be trusted here, as far as this number of trials shows.".into(),
        (true, false) => {
            "Interleaved comparisons can be trusted here; recordings made one after the other cannot: \
            this machine drifts."
                .into()
        }
        (false, _) => {
            "Even interleaved comparisons raise too many false alarms here: something changes with the turns \
            themselves. Trust no small difference."
                .into()
        }
    }
}

/// The JSON output of `howlate compare --with-itself`.
pub fn self_test_json(test: &ComparisonSelfTest<'_>) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct SelfTestDocument<'a> {
        format: u32,
        howlate: &'static str,
        command: &'static str,
        #[serde(flatten)]
        test: &'a ComparisonSelfTest<'a>,
    }
    let document = SelfTestDocument {
        format: 1,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "compare --with-itself",
        test,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
