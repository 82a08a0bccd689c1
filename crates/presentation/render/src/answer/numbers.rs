//! One table: how late the wake-ups of each loop were.

use howlate_analyse::LoopOutcomes;
use howlate_model::{Distribution, Property, WorkKind};

use crate::condition::joined;
use crate::confidence::too_few;
use crate::cyclic::{cell, common_and_varying};
use crate::numbers::{count, micros};
use crate::property::heading;
use crate::prose::wrapped;
use crate::result_columns::{MAX, MEDIAN, P99, P99_9, RowNumbers};
use crate::style::{DIM, paint};
use crate::table::TextTable;

const MISSED_COUNT: &str = "missed wake-ups included";

/// One row per loop, all CPUs together, below the values that all loops share.
pub(super) fn table(loops: &[LoopOutcomes<'_>], width: usize) -> String {
    let (mut about, varying) = common_and_varying(loops);
    about.push("latency in µs".to_owned());
    let are_missed = loops.iter().any(|row| row.missed() > 0);
    about.extend(are_missed.then(|| MISSED_COUNT.to_owned()));
    let planned: Vec<Distribution> = loops.iter().map(LoopOutcomes::planned).collect();
    let mut table = TextTable::without_columns(varying.len());
    for property in &varying {
        let cells = loops.iter().map(|row| cell(row, *property));
        table.column(heading(*property, Some(WorkKind::Cyclic)), cells);
    }
    table.column("wake-ups", loops.iter().map(|row| count(row.happened().count())));
    table.column("missed", loops.iter().map(|row| count(row.missed())));
    let numbers: Vec<RowNumbers> = planned.iter().map(RowNumbers::supported_by).collect();
    table.results(&[MEDIAN, P99, P99_9, MAX], &numbers);
    if are_missed {
        table.column("raw p99", loops.iter().map(raw_p99));
    }
    if loops.iter().any(|row| row.threads() > 1) {
        table.column("worst", loops.iter().map(worst));
    }
    let few = too_few(&planned, &[P99, P99_9]);
    let few = few.map_or_else(String::new, |text| format!("{}\n", paint(DIM, wrapped(&text, width, 0))));
    format!("{}\n\n{}{few}", wrapped(&joined(&about), width, 0), table.text(width))
}

/// p99 of the wake-ups that happened, as other programs report it: without the missed ones.
fn raw_p99(row: &LoopOutcomes<'_>) -> String {
    let happened = RowNumbers::supported_by(&row.happened());
    happened.nanos(&P99).map_or_else(|| "–".to_owned(), micros)
}

/// The CPU of the latest thread.
fn worst(row: &LoopOutcomes<'_>) -> String {
    row.latest().map_or_else(
        || "–".to_owned(),
        |outcome| match outcome.condition.cpu {
            Some(_) => format!("CPU {}", cell(outcome, Property::Cpu)),
            None => format!("thread {}", outcome.condition.thread),
        },
    )
}
