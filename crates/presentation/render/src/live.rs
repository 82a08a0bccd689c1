//! The plain live view: one line per thread, refreshed in place.

use howlate_analyse::{Analysis, Outcome, per_loop};
use howlate_model::{HasProperties, Latency, Property};

use crate::condition::beside_one_another;
use crate::numbers::{count, micros};
use crate::property;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::style::{DIM, paint};
use crate::table::{TextTable, worst_in_bold};

/// Results so far of one thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadSoFar<'a> {
    /// All wake-ups so far.
    pub so_far: &'a Outcome,
    /// The most recent latency; `None` before the first wake-up.
    pub last: Option<Latency>,
}

/// One line per thread below the load average.
pub fn live(rows: &[ThreadSoFar<'_>], load_average: &str, width: usize) -> String {
    let columns = [Property::Policy, Property::Cpu, Property::Thread];
    let value = |row: &ThreadSoFar<'_>, property: Property| {
        row.so_far.value(property).map_or_else(|| "–".to_owned(), |value| property::value(&value))
    };
    let mut table = TextTable::without_columns(columns.len());
    for property in columns {
        table.column(property::heading(property, None), rows.iter().map(|row| value(row, property)));
    }
    table.column("wake-ups", rows.iter().map(|row| count(row.so_far.count())));
    if rows.iter().any(|row| row.so_far.condition.work.period().is_some()) {
        table.column("missed", rows.iter().map(|row| count(row.so_far.missed_periods())));
    }
    let last: Vec<Option<i64>> = rows.iter().map(|row| row.last.map(Latency::as_nanos)).collect();
    table.column("last", worst_in_bold(&last, micros));
    let numbers = rows.iter().map(|row| RowNumbers::supported_by(&row.so_far.planned()));
    table.results(&[MEDIAN, P99, MAX], &numbers.collect::<Vec<_>>());
    let about = format!("so far · latency in µs · load average {load_average}");
    format!("{}\n{}", paint(DIM, about), table.text(width))
}

/// Most rows; the final result has all.
const MOST_ROWS: usize = 12;

/// One row per condition with wake-ups; empty without any.
pub fn live_overview(so_far: &Analysis, width: usize) -> String {
    let mut loops = per_loop(so_far);
    let names = beside_one_another(&loops);
    let mut names: Vec<String> = names.iter().map(|name| crate::legible(name).into_owned()).collect();
    let mut has_woken = loops.iter().map(|row| row.happened().count() > 0).collect::<Vec<_>>().into_iter();
    names.retain(|_| has_woken.next().unwrap_or(false));
    loops.retain(|row| row.happened().count() > 0);
    if loops.is_empty() {
        return String::new();
    }
    let left_out = loops.len().saturating_sub(MOST_ROWS);
    loops.truncate(MOST_ROWS);
    let mut table = TextTable::without_columns(1);
    table.column("", names.into_iter().take(MOST_ROWS));
    table.column("wake-ups", loops.iter().map(|row| count(row.happened().count())));
    let numbers: Vec<RowNumbers> = loops.iter().map(|row| RowNumbers::supported_by(&row.planned())).collect();
    table.results(&[MEDIAN, P99, MAX], &numbers);
    let more = if left_out > 0 { format!(" · {} more", count(left_out as u64)) } else { String::new() };
    format!("{}\n{}", paint(DIM, format!("so far · latency in µs{more}")), table.text(width))
}
