//! Tables of periodic work.

use howlate_analyse::{Analysis, Outcome, Summary};
use howlate_model::{Condition, HasProperties, Latency, Property, WorkKind};

use crate::certainty::what_the_maximum_supports;
use crate::numbers::{count, micros};
use crate::property::{self, heading, is_usual, varying};
use crate::prose::wrapped;
use crate::style::{DIM, paint};
use crate::table::{Columns, transpose, worst_in_bold};

/// What all conditions have in common, in words, and the properties in which they differ.
fn common_and_varying(conditions: &[&Condition]) -> (Vec<String>, Vec<Property>) {
    let is_column = |property: &Property| match property {
        Property::Kind => false,
        Property::Kernel => conditions.iter().any(|condition| condition.on_host.is_some()),
        _ => true,
    };
    let varying: Vec<Property> = varying(conditions).into_iter().filter(is_column).collect();
    let common = Property::ALL.iter().filter(|property| is_column(property) && !varying.contains(property));
    let text = |property: &Property| {
        let value = conditions.first()?.value(*property).filter(|value| !is_usual(value))?;
        Some(format!("{} {}", heading(*property, Some(WorkKind::Cyclic)), property::value(&value)))
    };
    (common.filter_map(text).collect(), varying)
}

fn cell(condition: &Condition, property: Property) -> String {
    condition.value(property).map_or_else(|| "–".to_owned(), |value| property::value(&value))
}

/// The table, what was in common, the corrected numbers, and what the maxima support.
pub(crate) fn tables(analysis: &Analysis, width: usize) -> String {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let conditions: Vec<&Condition> = outcomes.iter().map(|outcome| &outcome.condition).collect();
    let (common, varying) = common_and_varying(&conditions);
    let mut text = format!("{} · latency in µs\n\n", common.join(" · "));
    let raw: Vec<Option<Summary>> = outcomes.iter().map(|outcome| outcome.summary()).collect();
    text.push_str(&table(&outcomes, &varying, &raw));
    text.push('\n');
    let missed: Vec<&Outcome> =
        outcomes.iter().filter(|outcome| outcome.missed_periods() > 0).copied().collect();
    if !missed.is_empty() {
        let corrected: Vec<Option<Summary>> =
            missed.iter().map(|outcome| outcome.corrected_summary()).collect();
        text.push_str("Where periods were missed, corrected as if every one had woken a thread:\n\n");
        text.push_str(&table(&missed, &varying, &corrected));
        text.push('\n');
    }
    text.push_str(&certainty(&outcomes, width));
    text
}

fn table(outcomes: &[&Outcome], varying: &[Property], summaries: &[Option<Summary>]) -> String {
    let heading = |property: &Property| heading(*property, Some(WorkKind::Cyclic)).to_owned();
    let mut headings: Vec<String> = varying.iter().map(heading).collect();
    let left = headings.len();
    let mut columns: Vec<Vec<String>> = varying
        .iter()
        .map(|property| outcomes.iter().map(|one| cell(&one.condition, *property)).collect())
        .collect();
    headings.push("wake-ups".to_owned());
    columns.push(outcomes.iter().map(|outcome| count(outcome.count())).collect());
    headings.push("missed".to_owned());
    columns.push(outcomes.iter().map(|outcome| count(outcome.missed_periods())).collect());
    for (heading, of) in NUMBERS {
        headings.push(heading.to_owned());
        let values: Vec<Option<i64>> = summaries.iter().map(|summary| summary.as_ref().map(of)).collect();
        columns.push(worst_in_bold(&values, micros));
    }
    let mut table = Columns::new(&headings, left);
    transpose(&columns).into_iter().for_each(|row| table.row(row));
    table.text()
}

/// A heading, and the nanoseconds below it.
type Number = (&'static str, fn(&Summary) -> i64);

/// The numbers shown of each condition.
#[allow(clippy::cast_possible_truncation, reason = "nanoseconds are enough of a mean")]
const NUMBERS: [Number; 6] = [
    ("min", |summary| summary.min),
    ("mean", |summary| summary.mean as i64),
    ("median", |summary| summary.p50),
    ("p99", |summary| summary.p99),
    ("p99.9", |summary| summary.p99_9),
    ("max", |summary| summary.max),
];

/// How sure the numbers are; for one condition in words, for several the widest statement.
fn certainty(outcomes: &[&Outcome], width: usize) -> String {
    let mut lines = Vec::new();
    if let [outcome] = outcomes {
        let between = |name: &str, low: Latency, high: Latency| format!("{name} {low} to {high}");
        let intervals = [
            outcome.p50_interval().map(|one| between("median", one.low, one.high)),
            outcome.p99_interval().map(|one| between("p99", one.low, one.high)),
        ];
        let intervals: Vec<String> = intervals.into_iter().flatten().collect();
        if !intervals.is_empty() {
            lines.push(format!("95 % intervals, from blocks of about a second: {}.", intervals.join(", ")));
        }
    }
    let least = outcomes.iter().map(|outcome| outcome.count()).min().unwrap_or(0);
    if let Some(supports) = what_the_maximum_supports(least) {
        lines.push(format!("With {} wake-ups: {supports}.", count(least)));
    }
    lines.iter().map(|line| format!("{}\n", paint(DIM, wrapped(line, width, 0)))).collect()
}
