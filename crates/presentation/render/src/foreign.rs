//! Tables of what other programs measured.

use howlate_analyse::{Analysis, Outcome};

use crate::numbers::count;
use crate::result_columns::{MAX, MEDIAN, MIN, P99, P99_9, RowNumbers};
use crate::table::Columns;

/// One row per thread or CPU of its file.
pub(crate) fn tables(analysis: &Analysis, width: usize) -> String {
    let outcomes = analysis.outcomes();
    let mut table = Columns::without_columns(2);
    table.column("measured by", outcomes.iter().map(|one| one.condition.work.mechanism().to_string()));
    table.column("of", outcomes.iter().map(|one| place(one, outcomes)));
    table.column("values", outcomes.iter().map(|one| count(one.count())));
    let numbers = outcomes.iter().map(|one| RowNumbers::all_of(one.summary()));
    table.results(&[MIN, MEDIAN, P99, P99_9, MAX], &numbers.collect::<Vec<_>>());
    format!("Results of another program · µs\n\n{}\n", table.text(width))
}

/// What a row is about: as the file names it, and its CPU, or its number where others have the same name.
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
