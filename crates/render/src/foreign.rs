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
    table.column("of", outcomes.iter().map(place));
    table.column("values", outcomes.iter().map(|one| count(one.count())));
    let numbers = outcomes.iter().map(|one| RowNumbers::all_of(one.summary()));
    table.results(&[MIN, MEDIAN, P99, P99_9, MAX], &numbers.collect::<Vec<_>>());
    format!("Results of another program · µs\n\n{}\n", table.text(width))
}

fn place(outcome: &Outcome) -> String {
    let condition = &outcome.condition;
    condition.cpu.map_or_else(|| format!("thread {}", condition.thread), |cpu| format!("CPU {cpu}"))
}
