//! Results measured by other programs.

use howlate_analyse::{Analysis, Outcome};

use crate::numbers::count;
use crate::result_columns::{MAX, MEDIAN, MIN, P99, P99_9, RowNumbers};
use crate::table::TextTable;

/// One row per thread or CPU of the file.
pub(crate) fn tables(analysis: &Analysis, width: usize) -> String {
    let outcomes = analysis.outcomes();
    let mut table = TextTable::without_columns(2);
    table
        .column("measured by", outcomes.iter().map(|outcome| outcome.condition.work.mechanism().to_string()));
    table.column("of", outcomes.iter().map(|outcome| place(outcome, outcomes)));
    table.column("values", outcomes.iter().map(|outcome| count(outcome.count())));
    let numbers = outcomes.iter().map(|outcome| RowNumbers::all_of(outcome.summary()));
    table.results(&[MIN, MEDIAN, P99, P99_9, MAX], &numbers.collect::<Vec<_>>());
    format!("Results of another program · µs\n\n{}\n", table.text(width))
}

/// Name of a row: that in the file with its CPU, or its number if the name is not unique.
fn place(outcome: &Outcome, all: &[Outcome]) -> String {
    let name = &outcome.condition.name;
    let is_only = || all.iter().filter(|other| other.condition.name == *name).count() == 1;
    let number = match outcome.condition.cpu {
        Some(cpu) => Some(format!("CPU {cpu}")),
        None if name.is_some() && is_only() => None,
        None => Some(format!("thread {}", outcome.condition.thread)),
    };
    name.clone().into_iter().chain(number).collect::<Vec<_>>().join(" · ")
}
