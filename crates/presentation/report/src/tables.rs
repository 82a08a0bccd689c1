//! The tables of results.

use howlate_analyse::{Summary, percentile};
use howlate_model::Latency;
use howlate_render::numbers::{count, length, micros};
use howlate_render::property::common_kind;
use howlate_render::result_columns::{ColumnSpec, MAX, MEAN, MEDIAN, MIN, P99, P99_9, P99_99};

use crate::condition_names::{name, varying};
use crate::deadline;
use crate::entry::Entry;
use crate::table::{Cell, Table, column as cells_of};

/// What tells most comes first, as a narrow page shows no more without being moved; the others in the order of all tables.
const NUMBERS: [ColumnSpec; 7] = [MEDIAN, P99, P99_9, P99_99, MAX, MIN, MEAN];

/// Those that are left where there is little room.
const BRIEF: [ColumnSpec; 4] = [MEDIAN, P99, P99_9, MAX];

/// One wake-up says nothing of how late others are.
const LEAST: u64 = 2;

/// One row per condition: in what it differs, what was measured, how late.
pub(crate) fn results(entries: &[Entry<'_>]) -> Table {
    let parts = varying(entries);
    let work = common_kind(entries);
    let mut headings: Vec<String> = parts.iter().map(|part| part.heading(work).to_owned()).collect();
    let text = |text: Option<String>| Cell::new(text.unwrap_or_else(|| "–".to_owned()));
    let mut columns: Vec<Vec<Cell>> =
        parts.iter().map(|part| entries.iter().map(|entry| text(part.value(entry))).collect()).collect();
    let summaries: Vec<Option<Summary>> = entries.iter().map(Entry::judged_summary).collect();
    let mut add = |heading: &str, cells: Vec<Cell>| {
        headings.push(heading.to_owned());
        columns.push(cells);
    };
    for column in NUMBERS {
        let value = |(entry, summary): (&Entry<'_>, &Option<Summary>)| {
            let summary = summary.as_ref().filter(|_| entry.has_at_least(column.least.max(LEAST)));
            summary.map(|summary| column.nanos(summary))
        };
        let values: Vec<Option<i64>> = entries.iter().zip(&summaries).map(value).collect();
        if values.iter().any(Option::is_some) {
            let bounds = summaries.iter().zip(&values).map(|(summary, value)| {
                summary.as_ref().zip(*value).is_some_and(|(summary, value)| summary.is_lower_bound(value))
            });
            // The smallest of all says nothing of how late a condition is.
            let is_told = column.heading != MIN.heading;
            let cells = cells_of(&values, micros).into_iter().zip(bounds);
            let told = cells.map(|(mut cell, is_bound)| {
                cell.is_worst &= is_told;
                cell.at_least(is_bound)
            });
            add(column.heading, told.collect());
        }
        if column.heading == MAX.heading {
            too_late(entries, &mut add);
        }
    }
    add("wake-ups", entries.iter().map(|entry| Cell::new(count(entry.outcome.count()))).collect());
    losses(entries, &mut add);
    let rows =
        (0..entries.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect();
    let missed = if entries.iter().any(|entry| entry.outcome.counts_missed()) {
        " Missed periods count with the latency they would have had; raw is without them."
    } else {
        ""
    };
    let caption = format!("How late, in µs. Bold: the worst, if clearly above the best.{missed}");
    Table { caption, headings, names: parts.len(), rows, is_text: false }
}

/// The same in few columns, for pages that are narrow.
pub(crate) fn brief(entries: &[Entry<'_>]) -> Table {
    let whole = results(entries);
    let parts = varying(entries);
    let is_kept = |heading: &str| {
        let is_number = BRIEF.iter().any(|column| column.heading == heading);
        is_number || heading.starts_with("> ") || heading == "wake-ups"
    };
    let kept: Vec<usize> =
        (whole.names..whole.headings.len()).filter(|place| is_kept(&whole.headings[*place])).collect();
    let row = |(entry, cells): (&Entry<'_>, &Vec<Cell>)| {
        let numbers = kept.iter().map(|place| cells[*place].clone());
        std::iter::once(Cell::new(name(entry, &parts))).chain(numbers).collect()
    };
    let numbers = kept.iter().map(|place| whole.headings[*place].clone());
    Table {
        caption: whole.caption.replace("; raw is without them", ""),
        headings: std::iter::once("condition".to_owned()).chain(numbers).collect(),
        names: 1,
        rows: entries.iter().zip(&whole.rows).map(row).collect(),
        is_text: false,
    }
}

/// How many came later than the deadline that all have.
fn too_late(entries: &[Entry<'_>], add: &mut impl FnMut(&str, Vec<Cell>)) {
    let Some(deadline) = deadline::common(entries) else { return };
    let late: Vec<u64> = entries.iter().map(|entry| entry.outcome.later_than(deadline).0).collect();
    let most = late.iter().copied().max().filter(|most| *most > 0 && late.len() > 1);
    let cell = |number: &u64| Cell { is_worst: Some(*number) == most, ..Cell::new(count(*number)) };
    add(&format!("> {}", length(deadline)), late.iter().map(cell).collect());
}

/// Columns for what is missing or was made up for; only where there is any.
fn losses(entries: &[Entry<'_>], add: &mut impl FnMut(&str, Vec<Cell>)) {
    let numbers = |of: fn(&Entry<'_>) -> u64| -> Vec<u64> { entries.iter().map(of).collect() };
    let missed = numbers(|entry| entry.outcome.missed_periods());
    if missed.iter().any(|number| *number > 0) {
        add("missed", missed.iter().map(|number| Cell::new(count(*number))).collect());
        let raw = |entry: &Entry<'_>| percentile(entry.outcome.latency(), 0.99).map(Latency::as_nanos);
        add("p99 raw", cells_of(&entries.iter().map(raw).collect::<Vec<_>>(), micros));
    }
    let irregular = |entry: &Entry<'_>| {
        let one = entry.outcome.irregular();
        one.messages_lost + one.messages_duplicated + one.messages_reordered
    };
    for (heading, values) in
        [("lost", numbers(|entry| entry.outcome.lost())), ("irregular", numbers(irregular))]
    {
        if values.iter().any(|number| *number > 0) {
            add(heading, values.iter().map(|number| Cell::new(count(*number))).collect());
        }
    }
}
