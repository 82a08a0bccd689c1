//! Tables of what other programs measured.

use howlate_analyse::{Analysis, Outcome, Summary};

use crate::numbers::{count, micros};
use crate::table::{Columns, transpose, worst_in_bold};

/// A heading, and the nanoseconds below it.
type Number = (&'static str, fn(&Summary) -> i64);

const NUMBERS: [Number; 5] = [
    ("min", |summary| summary.min),
    ("median", |summary| summary.p50),
    ("p99", |summary| summary.p99),
    ("p99.9", |summary| summary.p99_9),
    ("max", |summary| summary.max),
];

/// One row per thread or CPU of its file.
pub(crate) fn tables(analysis: &Analysis, width: usize) -> String {
    let outcomes = analysis.outcomes();
    let mut columns: Vec<Vec<String>> =
        vec![cells(outcomes, |one| one.condition.work.mechanism().to_string()), cells(outcomes, place)];
    columns.push(cells(outcomes, |one| count(one.count())));
    let summaries: Vec<Option<Summary>> = outcomes.iter().map(Outcome::summary).collect();
    for (_, of) in NUMBERS {
        let values: Vec<Option<i64>> = summaries.iter().map(|summary| summary.as_ref().map(of)).collect();
        columns.push(worst_in_bold(&values, micros));
    }
    let named = ["measured by", "of", "values"].into_iter();
    let headings: Vec<String> =
        named.chain(NUMBERS.iter().map(|(heading, _)| *heading)).map(str::to_owned).collect();
    let mut table = Columns::new(&headings, 2);
    transpose(&columns).into_iter().for_each(|row| table.row(row));
    format!("Results of another program · µs\n\n{}\n", table.text(width))
}

fn cells(outcomes: &[Outcome], of: impl Fn(&Outcome) -> String) -> Vec<String> {
    outcomes.iter().map(of).collect()
}

fn place(outcome: &Outcome) -> String {
    let condition = &outcome.condition;
    condition.cpu.map_or_else(|| format!("thread {}", condition.thread), |cpu| format!("CPU {cpu}"))
}
