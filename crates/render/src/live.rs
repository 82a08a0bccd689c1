//! The display while periodic threads are measured: one line per thread, refreshed in place.

use howlate_model::{Latency, Policy, Span};

use crate::numbers::{count, length, micros};
use crate::style::{DIM, paint};
use crate::table::{Columns, transpose, worst_in_bold};

/// How far one thread has come.
#[derive(Clone, Debug)]
pub struct LiveRow {
    /// Thread id.
    pub tid: u32,
    /// The policy in force.
    pub policy: Policy,
    /// Its period.
    pub period: Span,
    /// Wake-ups so far.
    pub cycles: u64,
    /// Periods missed so far.
    pub missed: u64,
    /// Smallest, most recent, mean and largest latency so far; `None` before the first wake-up.
    pub latency: Option<[Latency; 4]>,
}

/// One line per thread, and the load average above.
pub fn live(rows: &[LiveRow], load_average: &str, width: usize) -> String {
    let headings = ["thread id", "policy", "period", "wake-ups", "missed", "min", "last", "mean", "max"];
    let headings: Vec<String> = headings.map(str::to_owned).into();
    let mut columns: Vec<Vec<String>> = vec![
        rows.iter().map(|row| row.tid.to_string()).collect(),
        rows.iter().map(|row| row.policy.to_string()).collect(),
        rows.iter().map(|row| length(row.period)).collect(),
        rows.iter().map(|row| count(row.cycles)).collect(),
        rows.iter().map(|row| count(row.missed)).collect(),
    ];
    for which in 0..4 {
        let values: Vec<Option<i64>> =
            rows.iter().map(|row| row.latency.map(|latency| latency[which].as_nanos())).collect();
        columns.push(if which == 3 { worst_in_bold(&values, micros) } else { plain(&values) });
    }
    let mut table = Columns::new(&headings, 3);
    transpose(&columns).into_iter().for_each(|row| table.row(row));
    format!("{}\n{}", paint(DIM, format!("latency in µs · load average {load_average}")), table.text(width))
}

fn plain(values: &[Option<i64>]) -> Vec<String> {
    values.iter().map(|value| value.map_or_else(|| "–".to_owned(), micros)).collect()
}
