//! Tables of results: one row per condition, wide and narrow.

use howlate_analyse::{Summary, percentile};
use howlate_model::Latency;
use howlate_render::numbers::{count, length, micros};
use howlate_render::property::common_kind;
use howlate_render::result_columns::{ColumnSpec, MAX, MEAN, MEDIAN, MIN, P99, P99_9, P99_99};

use crate::condition_names::{name, varying};
use crate::deadline;
use crate::entry::Entry;
use crate::table::{ReportTable, TableCell, column as cells_of};

/// The most important first, as a narrow page shows only the first without scrolling.
const NUMBERS: [ColumnSpec; 7] = [MEDIAN, P99, P99_9, P99_99, MAX, MIN, MEAN];

/// Columns of the narrow table.
const BRIEF: [ColumnSpec; 4] = [MEDIAN, P99, P99_9, MAX];

/// Wake-ups needed for a percentile: one says nothing about others.
const LEAST: u64 = 2;

/// One row per condition: how it differs, wake-ups, latencies.
pub(crate) fn results(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let work = common_kind(entries);
    let mut headings: Vec<String> = parts.iter().map(|part| part.heading(work).to_owned()).collect();
    let text = |text: Option<String>| TableCell::new(text.unwrap_or_else(|| "–".to_owned()));
    let mut columns: Vec<Vec<TableCell>> =
        parts.iter().map(|part| entries.iter().map(|entry| text(part.value(entry))).collect()).collect();
    let summaries: Vec<Option<Summary>> = entries.iter().map(Entry::judged_summary).collect();
    let mut add = |heading: &str, cells: Vec<TableCell>| {
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
            // The minimum says nothing about how late a condition is.
            let is_rated = column.heading != MIN.heading;
            let cells = cells_of(&values, micros).into_iter().zip(bounds);
            let rated = cells.map(|(mut cell, is_bound)| {
                cell.is_worst &= is_rated;
                cell.at_least(is_bound)
            });
            add(column.heading, rated.collect());
        }
        if column.heading == MAX.heading {
            too_late(entries, &mut add);
        }
    }
    add("wake-ups", entries.iter().map(|entry| TableCell::new(count(entry.outcome.count()))).collect());
    losses(entries, &mut add);
    let rows =
        (0..entries.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect();
    let missed = if entries.iter().any(|entry| entry.outcome.has_missed()) {
        " Missed periods count with the latency they would have had; raw is without them."
    } else {
        ""
    };
    let caption = format!("How late, in µs. Bold: the worst, if clearly above the best.{missed}");
    ReportTable { caption, headings, names: parts.len(), rows, is_text: false }
}

/// The results with fewer columns, for narrow pages.
pub(crate) fn brief(entries: &[Entry<'_>]) -> ReportTable {
    let results_table = results(entries);
    let parts = varying(entries);
    let is_brief = |heading: &str| {
        let is_number = BRIEF.iter().any(|column| column.heading == heading);
        is_number || heading.starts_with("> ") || heading == "wake-ups"
    };
    let columns: Vec<usize> = (results_table.names..results_table.headings.len())
        .filter(|place| is_brief(&results_table.headings[*place]))
        .collect();
    let row = |(entry, cells): (&Entry<'_>, &Vec<TableCell>)| {
        let numbers = columns.iter().map(|place| cells[*place].clone());
        std::iter::once(TableCell::new(name(entry, &parts))).chain(numbers).collect()
    };
    let numbers = columns.iter().map(|place| results_table.headings[*place].clone());
    ReportTable {
        caption: results_table.caption.replace("; raw is without them", ""),
        headings: std::iter::once("condition".to_owned()).chain(numbers).collect(),
        names: 1,
        rows: entries.iter().zip(&results_table.rows).map(row).collect(),
        is_text: false,
    }
}

/// Wake-ups later than the common deadline.
fn too_late(entries: &[Entry<'_>], add: &mut impl FnMut(&str, Vec<TableCell>)) {
    let Some(deadline) = deadline::common(entries) else { return };
    let late: Vec<u64> = entries.iter().map(|entry| entry.outcome.later_than(deadline).0).collect();
    let most = late.iter().copied().max().filter(|most| *most > 0 && late.len() > 1);
    let cell = |number: &u64| TableCell { is_worst: Some(*number) == most, ..TableCell::new(count(*number)) };
    add(&format!("> {}", length(deadline)), late.iter().map(cell).collect());
}

/// Columns of missed periods, lost and irregular messages; only where there are any.
fn losses(entries: &[Entry<'_>], add: &mut impl FnMut(&str, Vec<TableCell>)) {
    let numbers = |of: fn(&Entry<'_>) -> u64| -> Vec<u64> { entries.iter().map(of).collect() };
    let missed = numbers(|entry| entry.outcome.missed_periods());
    if missed.iter().any(|number| *number > 0) {
        add("missed", missed.iter().map(|number| TableCell::new(count(*number))).collect());
        let raw = |entry: &Entry<'_>| percentile(entry.outcome.latency(), 0.99).map(Latency::as_nanos);
        add("p99 raw", cells_of(&entries.iter().map(raw).collect::<Vec<_>>(), micros));
    }
    let irregular = |entry: &Entry<'_>| {
        let irregular = entry.outcome.irregular();
        irregular.messages_lost + irregular.messages_duplicated + irregular.messages_reordered
    };
    for (heading, values) in
        [("lost", numbers(|entry| entry.outcome.lost())), ("irregular", numbers(irregular))]
    {
        if values.iter().any(|number| *number > 0) {
            add(heading, values.iter().map(|number| TableCell::new(count(*number))).collect());
        }
    }
}
