//! Smallest, median, 99th percentile and largest of every condition, ranked.

use howlate_model::{Latency, Property};
use howlate_render::numbers::{count, latency_in, micros_in, micros_of};
use howlate_render::scale::Scale;

use super::{Chart, Panel, Picture, data, words};
use crate::chart::{Axis, Drawing, Hue, Row, Rows};
use crate::condition_names::{Facet, Part, facets, name, varying};
use crate::entry::Entry;
use crate::table::Table;

/// Rows in one panel, and in all.
const ROWS: usize = 12;
const ALL_ROWS: usize = 72;

/// The picture; nothing to rank with a single condition.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    if entries.len() < 2 {
        return None;
    }
    let mut facets = facets(entries, ROWS);
    facets.truncate(ALL_ROWS / ROWS);
    let drawn: usize = facets.iter().map(|facet| facet.entries.len().min(ROWS)).sum();
    let scale = scale(entries);
    Some(Picture {
        kind: Chart::Overview,
        title: title(entries),
        about: "Thin line: from the smallest to the largest. Circle: median. Diamond: 99th percentile. The best comes first, or the shortest \
                where only lengths differ."
            .to_owned(),
        left_out: super::series::left_out(entries.len() - drawn),
        panels: facets.iter().map(|facet| panel(facet, scale)).collect(),
        numbers: Some(numbers(entries)),
    })
}

/// A row for each of a few, without words.
pub(super) fn glance(entries: &[Entry<'_>]) -> Drawing {
    let parts = varying(entries);
    let of = |entry: &Entry<'_>| if parts.is_empty() { String::new() } else { name(entry, &parts) };
    let rows = entries.iter().filter_map(|entry| row(entry, of(entry))).collect();
    Drawing::Rows(Rows { axis: Axis::new(scale(entries), "latency", words::time), rows })
}

/// From where to where the ranked number goes.
fn title(entries: &[Entry<'_>]) -> String {
    let ranks = || entries.iter().filter_map(|entry| entry.rank());
    let (Some(least), Some(most)) = (ranks().min(), ranks().max()) else { return String::new() };
    let what = if entries.iter().any(|entry| entry.is_notify()) { "Medians" } else { "99th percentiles" };
    let [least, most] = [least, most].map(Latency::from_nanos);
    format!("{what} of {} conditions lie between {least} and {most}", entries.len())
}

fn scale(entries: &[Entry<'_>]) -> Scale {
    let all = || entries.iter().filter_map(Entry::judged_summary);
    let least = all().map(|summary| summary.min.max(1)).min().unwrap_or(1);
    let most = all().map(|summary| summary.max).max().unwrap_or(1);
    Scale::logarithmic(least as f64, most as f64)
}

fn panel(facet: &Facet<'_>, scale: Scale) -> Panel {
    let mut entries = facet.entries.clone();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.max()));
    entries.truncate(ROWS);
    let parts = varying(&facet.entries);
    if parts.iter().all(|part| *part == Part::Of(Property::Length)) {
        entries.sort_by_key(|entry| entry.work().length());
    } else {
        entries.sort_by_cached_key(Entry::rank);
    }
    let rows: Vec<Row> = entries.iter().filter_map(|entry| row(entry, name(entry, &parts))).collect();
    let axis = Axis::new(scale, "latency", words::time);
    let headings = ["condition", "min_ns", "p50_ns", "p99_ns", "max_ns"].map(str::to_owned);
    let cells = |row: &Row| {
        let mut cells = vec![row.name.clone()];
        cells.extend([row.min, row.median, row.p99, row.max].map(|value| format!("{value:.0}")));
        cells
    };
    let data = data::csv(&headings, rows.iter().map(cells));
    Panel {
        heading: facet.heading.clone(),
        drawing: Drawing::Rows(Rows { axis, rows }),
        legend: Vec::new(),
        data,
    }
}

fn row(entry: &Entry<'_>, name: String) -> Option<Row> {
    let one = entry.judged_summary()?;
    let words = [one.min, one.p50, one.p99, one.max].map(|nanos| latency_in(&one, nanos));
    let [min, median, p99, max] = words;
    Some(Row {
        name,
        hue: Hue::nth(0),
        min: one.min as f64,
        median: one.p50 as f64,
        p99: one.p99 as f64,
        max: one.max as f64,
        words: format!("{min}, median {median}, p99 {p99}, max {max}"),
    })
}

/// Smallest, mean with deviation, median, 95th and 99th percentile and largest of each.
fn numbers(entries: &[Entry<'_>]) -> Table {
    let parts = varying(entries);
    let mut ranked: Vec<&Entry<'_>> = entries.iter().collect();
    ranked.sort_by_cached_key(|entry| entry.rank());
    let row = |entry: &&Entry<'_>| {
        let one = entry.judged_summary()?;
        let mut row = vec![name(entry, &parts), count(entry.outcome.planned().count())];
        row.push(micros_in(&one, one.min));
        row.extend([one.mean, one.stddev].map(micros_of));
        row.extend([one.p50, one.p95, one.p99, one.max].map(|nanos| micros_in(&one, nanos)));
        Some(row)
    };
    Table::plain(
        "How late, in µs, the best first",
        &["condition", "planned wake-ups", "min", "mean", "stddev", "median", "p95", "p99", "max"],
        1,
        ranked.iter().filter_map(row).collect(),
    )
}
