//! Minimum, median, 99th percentile and maximum of every condition, ranked.

use howlate_model::{Latency, Property};
use howlate_render::numbers::{count, latency_in, micros_in, micros_of};
use howlate_render::scale::Scale;

use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Axis, Drawing, Hue, PercentileRow, PercentileRows};
use crate::condition_names::{Facet, NamePart, facets, name, varying};
use crate::entry::Entry;
use crate::table::ReportTable;

/// Maximum rows of a panel, and of the picture.
const ROWS: usize = 12;
const ALL_ROWS: usize = 72;

/// `None` for a single condition.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    if entries.len() < 2 {
        return None;
    }
    let mut facets = facets(entries, ROWS);
    facets.truncate(ALL_ROWS / ROWS);
    let drawn_count: usize = facets.iter().map(|facet| facet.entries.len().min(ROWS)).sum();
    let scale = scale(entries);
    Some(Picture {
        kind: Chart::Overview,
        title: title(entries),
        about: "Thin line: from the smallest to the largest. Circle: median. Diamond: 99th percentile. The best comes first, or the shortest \
                where only lengths differ."
            .to_owned(),
        left_out: super::series::left_out(entries.len() - drawn_count),
        panels: facets.iter().map(|facet| panel(facet, scale)).collect(),
        numbers: Some(numbers(entries)),
    })
}

/// A row for each of a few conditions, without texts.
pub(super) fn glance(entries: &[Entry<'_>]) -> Drawing {
    let parts = varying(entries);
    let of = |entry: &Entry<'_>| if parts.is_empty() { String::new() } else { name(entry, &parts) };
    let rows = entries.iter().filter_map(|entry| row(entry, of(entry))).collect();
    Drawing::PercentileRows(PercentileRows {
        axis: Axis::new(scale(entries), "latency", formats::time),
        rows,
    })
}

/// Range of the ranked percentile.
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

fn panel(facet: &Facet<'_>, scale: Scale) -> ChartPanel {
    let mut entries = facet.entries.clone();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.max()));
    entries.truncate(ROWS);
    let parts = varying(&facet.entries);
    if parts.iter().all(|part| *part == NamePart::Of(Property::Length)) {
        entries.sort_by_key(|entry| entry.work().length());
    } else {
        entries.sort_by_cached_key(Entry::rank);
    }
    let rows: Vec<PercentileRow> =
        entries.iter().filter_map(|entry| row(entry, name(entry, &parts))).collect();
    let axis = Axis::new(scale, "latency", formats::time);
    let headings = ["condition", "min_ns", "p50_ns", "p99_ns", "max_ns"].map(str::to_owned);
    let cells = |row: &PercentileRow| {
        let mut cells = vec![row.name.clone()];
        cells.extend([row.min, row.median, row.p99, row.max].map(|value| format!("{value:.0}")));
        cells
    };
    let data = formats::csv(&headings, rows.iter().map(cells));
    ChartPanel {
        heading: facet.heading.clone(),
        drawing: Drawing::PercentileRows(PercentileRows { axis, rows }),
        legend: Vec::new(),
        data,
    }
}

fn row(entry: &Entry<'_>, name: String) -> Option<PercentileRow> {
    let summary = entry.judged_summary()?;
    let late = [summary.min, summary.p50, summary.p99, summary.max].map(|nanos| latency_in(&summary, nanos));
    let [min, median, p99, max] = late;
    Some(PercentileRow {
        name,
        hue: Hue::nth(0),
        min: summary.min as f64,
        median: summary.p50 as f64,
        p99: summary.p99 as f64,
        max: summary.max as f64,
        tooltip: format!("{min}, median {median}, p99 {p99}, max {max}"),
    })
}

/// Table of all statistics.
fn numbers(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let mut ranked: Vec<&Entry<'_>> = entries.iter().collect();
    ranked.sort_by_cached_key(|entry| entry.rank());
    let row = |entry: &&Entry<'_>| {
        let summary = entry.judged_summary()?;
        let mut row = vec![name(entry, &parts), count(entry.outcome.planned().count())];
        row.push(micros_in(&summary, summary.min));
        row.extend([summary.mean, summary.stddev].map(micros_of));
        row.extend(
            [summary.p50, summary.p95, summary.p99, summary.max].map(|nanos| micros_in(&summary, nanos)),
        );
        Some(row)
    };
    ReportTable::plain(
        "How late, in µs, the best first",
        &["condition", "planned wake-ups", "min", "mean", "stddev", "median", "p95", "p99", "max"],
        1,
        ranked.iter().filter_map(row).collect(),
    )
}
