//! The tables of results.

use howlate_analyse::{Summary, percentile};
use howlate_model::Latency;
use howlate_render::numbers::{count, micros};
use howlate_render::property::common_kind;

use crate::entry::Entry;
use crate::names::varying;
use crate::table::{Cell, Table, column};

/// A heading, the smallest share of wake-ups that must be one at least, and the nanoseconds.
type Number = (&'static str, f64, fn(&Summary) -> i64);

#[allow(clippy::cast_possible_truncation, reason = "nanoseconds are enough of a mean")]
const NUMBERS: [Number; 7] = [
    ("min", 0.5, |summary| summary.min),
    ("mean", 0.5, |summary| summary.mean as i64),
    ("median", 0.5, |summary| summary.p50),
    ("p99", 0.01, |summary| summary.p99),
    ("p99.9", 1e-3, |summary| summary.p99_9),
    ("p99.99", 1e-4, |summary| summary.p99_99),
    ("max", 0.5, |summary| summary.max),
];

/// One row per condition: in what it differs, what was measured, how late.
pub(crate) fn results(entries: &[Entry<'_>]) -> Table {
    let parts = varying(entries);
    let work = common_kind(entries);
    let mut headings: Vec<String> = parts.iter().map(|part| part.heading(work).to_owned()).collect();
    let text = |text: Option<String>| Cell::new(text.unwrap_or_else(|| "–".to_owned()));
    let mut columns: Vec<Vec<Cell>> =
        parts.iter().map(|part| entries.iter().map(|entry| text(part.value(entry))).collect()).collect();
    let summaries: Vec<Option<Summary>> = entries.iter().map(Entry::judged).collect();
    let mut add = |heading: &str, cells: Vec<Cell>| {
        headings.push(heading.to_owned());
        columns.push(cells);
    };
    add("wake-ups", entries.iter().map(|entry| Cell::new(count(entry.outcome.count()))).collect());
    for (heading, tail, of) in NUMBERS {
        let value = |(entry, summary): (&Entry<'_>, &Option<Summary>)| {
            summary.as_ref().filter(|_| entry.supports(tail)).map(of)
        };
        let values: Vec<Option<i64>> = entries.iter().zip(&summaries).map(value).collect();
        if values.iter().any(Option::is_some) {
            add(heading, column(&values, micros));
        }
    }
    losses(entries, &mut add);
    let rows =
        (0..entries.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect();
    let missed = if entries.iter().any(|entry| entry.outcome.counts_missed()) {
        " Missed periods count with the latency that they would have had; raw is without."
    } else {
        ""
    };
    let caption = format!("How late, in µs. The worst of each column is in bold.{missed}");
    Table { caption, headings, names: parts.len(), rows, is_text: false }
}

/// Columns for what is missing or was made up for; only where there is any.
fn losses(entries: &[Entry<'_>], add: &mut impl FnMut(&str, Vec<Cell>)) {
    let numbers = |of: fn(&Entry<'_>) -> u64| -> Vec<u64> { entries.iter().map(of).collect() };
    let missed = numbers(|entry| entry.outcome.missed_periods());
    if missed.iter().any(|number| *number > 0) {
        add("missed", missed.iter().map(|number| Cell::new(count(*number))).collect());
        let raw = |entry: &Entry<'_>| percentile(entry.outcome.latency(), 0.99).map(Latency::as_nanos);
        add("p99 raw", column(&entries.iter().map(raw).collect::<Vec<_>>(), micros));
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
