//! What is known so far of each condition, where turns are too short for their own figures to be read.

use howlate_analyse::{Analysis, per_loop};

use crate::condition::beside_one_another;
use crate::numbers::count;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::style::{DIM, paint};
use crate::table::Columns;

/// Conditions that have a row: the result has all.
const MOST_ROWS: usize = 12;

/// A row for each condition that has woken, as it fills; empty before that.
pub fn live_overview(so_far: &Analysis, width: usize) -> String {
    let mut loops = per_loop(so_far);
    let names = beside_one_another(&loops);
    let mut names: Vec<String> = names.iter().map(|name| crate::legible(name).into_owned()).collect();
    let mut has_woken = loops.iter().map(|one| one.happened().count() > 0).collect::<Vec<_>>().into_iter();
    names.retain(|_| has_woken.next().unwrap_or(false));
    loops.retain(|one| one.happened().count() > 0);
    if loops.is_empty() {
        return String::new();
    }
    let left_out = loops.len().saturating_sub(MOST_ROWS);
    loops.truncate(MOST_ROWS);
    let mut table = Columns::without_columns(1);
    table.column("", names.into_iter().take(MOST_ROWS));
    table.column("wake-ups", loops.iter().map(|one| count(one.happened().count())));
    let numbers: Vec<RowNumbers> = loops.iter().map(|one| RowNumbers::supported_by(&one.planned())).collect();
    table.results(&[MEDIAN, P99, MAX], &numbers);
    let more = if left_out > 0 { format!(" · {} more", count(left_out as u64)) } else { String::new() };
    format!("{}\n{}", paint(DIM, format!("so far · latency in µs{more}")), table.text(width))
}
