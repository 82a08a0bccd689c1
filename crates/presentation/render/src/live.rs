//! The figures so far while it is measured, in the words of the result: one line per thread, refreshed in place.

use howlate_analyse::Outcome;
use howlate_model::{HasProperties, Latency, Property};

use crate::numbers::{count, micros};
use crate::property;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::style::{DIM, paint};
use crate::table::{Columns, worst_in_bold};

/// What is known so far of one thread's condition.
#[derive(Clone, Copy, Debug)]
pub struct LiveRow<'a> {
    /// Everything that has been counted.
    pub so_far: &'a Outcome,
    /// The most recent latency; `None` before the first wake-up.
    pub last: Option<Latency>,
}

/// One line per thread, and the load average above.
pub fn live(rows: &[LiveRow<'_>], load_average: &str, width: usize) -> String {
    let named = [Property::Policy, Property::Cpu, Property::Thread];
    let value = |row: &LiveRow<'_>, property: Property| {
        row.so_far.value(property).map_or_else(|| "–".to_owned(), |value| property::value(&value))
    };
    let mut table = Columns::without_columns(named.len());
    for property in named {
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
