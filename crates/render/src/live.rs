//! The figures so far while it is measured, in the words of the result: one line per thread, refreshed in place.

use howlate_analyse::{Outcome, percentile};
use howlate_model::{HasProperties, Latency, Property};

use crate::numbers::{count, micros};
use crate::property;
use crate::style::{DIM, paint};
use crate::table::{Columns, transpose, worst_in_bold};

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
    let mut headings: Vec<String> = named.map(|property| property::heading(property, None).to_owned()).into();
    let mut columns: Vec<Vec<String>> =
        named.map(|property| rows.iter().map(|row| value(row, property)).collect()).into();
    let is_periodic = rows.iter().any(|row| row.so_far.condition.work.period().is_some());
    headings.push("wake-ups".to_owned());
    columns.push(rows.iter().map(|row| count(row.so_far.count())).collect());
    if is_periodic {
        headings.push("missed".to_owned());
        columns.push(rows.iter().map(|row| count(row.so_far.missed_periods())).collect());
    }
    for (heading, of) in NUMBERS {
        headings.push(heading.to_owned());
        columns.push(worst_in_bold(&rows.iter().map(of).collect::<Vec<_>>(), micros));
    }
    let mut table = Columns::new(&headings, named.len());
    transpose(&columns).into_iter().for_each(|row| table.row(row));
    let about = format!("so far · latency in µs · load average {load_average}");
    format!("{}\n{}", paint(DIM, about), table.text(width))
}

/// A heading, and the nanoseconds below it, where there are enough wake-ups for it.
type Number = (&'static str, fn(&LiveRow<'_>) -> Option<i64>);

const NUMBERS: [Number; 4] = [
    ("last", |row| row.last.map(Latency::as_nanos)),
    ("median", |row| percentile(&row.so_far.planned(), 0.5).map(Latency::as_nanos)),
    ("p99", |row| percentile(&row.so_far.planned(), 0.99).map(Latency::as_nanos)),
    ("max", |row| row.so_far.planned().max().map(Latency::as_nanos)),
];
