//! How late when: a strip for each condition.

use std::cmp::Reverse;

use howlate_analyse::{Column, Slice};
use howlate_model::{Latency, MonotonicTime};
use howlate_render::numbers::count;
use howlate_render::scale::Scale;

use super::series::left_out;
use super::{Chart, Panel, Picture, data, words};
use crate::chart::{Axis, Cell, Drawing, Form, Hue, Mark, Plot};
use crate::entry::Entry;
use crate::names::{name, varying};
use crate::table::Table;

/// Strips drawn; those with the largest latencies.
const STRIPS: usize = 12;

/// The picture; nothing to see where less than two stretches of time were kept.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let mut drawn: Vec<Entry<'_>> =
        entries.iter().copied().filter(|entry| entry.outcome.timeline().slices().len() > 1).collect();
    let candidates = drawn.len();
    let mut by_max: Vec<usize> = (0..drawn.len()).collect();
    by_max.sort_by_key(|place| Reverse(drawn[*place].max()));
    by_max.truncate(STRIPS);
    by_max.sort_unstable();
    drawn = by_max.into_iter().map(|place| drawn[place]).collect();
    let parts = varying(entries);
    let (end, latencies) = (end_of(&drawn)?, latencies(&drawn));
    let last = drawn.len() - 1;
    let strip = |(number, entry): (usize, &Entry<'_>)| Panel {
        heading: name(entry, &parts),
        drawing: Drawing::Plot(plot(entry, Scale::exactly(0.0, end), latencies, number == last)),
        legend: Vec::new(),
        data: table_of(entry),
    };
    Some(Picture {
        kind: Chart::Time,
        title: title(&drawn),
        about: "One strip per condition, all on the same axes. The darker, the more wake-ups were so late; the line above \
                is the worst of each stretch of time, dots are the worst of all. Grey stretches ran under a background \
                load; triangles mark missed periods and lost wake-ups."
            .to_owned(),
        left_out: left_out(candidates - drawn.len()),
        panels: drawn.iter().enumerate().map(strip).collect(),
        numbers: Some(numbers(&drawn)),
    })
}

/// Seconds since the recording began.
fn since(entry: &Entry<'_>, at: MonotonicTime) -> f64 {
    at.since(entry.recording.analysis.header.at_ns).as_secs_f64()
}

fn end_of(entries: &[Entry<'_>]) -> Option<f64> {
    let end = |entry: &Entry<'_>| Some(since(entry, entry.outcome.timeline().slices().last()?.until));
    entries.iter().filter_map(end).max_by(f64::total_cmp).filter(|end| *end > 0.0)
}

#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn latencies(entries: &[Entry<'_>]) -> Scale {
    let all = || entries.iter().filter_map(|entry| entry.outcome.summary());
    let least = all().map(|summary| summary.min.max(1)).min().unwrap_or(1);
    let most = all().map(|summary| summary.max).max().unwrap_or(1);
    Scale::logarithmic(least as f64, most as f64)
}

fn title(entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let worst = |entry: &Entry<'_>| entry.outcome.worst().first().copied();
    let Some(entry) = entries.iter().max_by_key(|entry| entry.max()) else { return String::new() };
    let about = if entries.len() > 1 { format!(" ({})", name(entry, &parts)) } else { String::new() };
    match worst(entry) {
        None => format!("The worst wake-up came {} late{about}", Latency::from_nanos(entry.max())),
        Some(worst) => {
            let at = since(entry, worst.at_ns);
            format!("The worst wake-up came {} late, {at:.1} s after the start{about}", worst.latency_ns)
        }
    }
}

fn plot(entry: &Entry<'_>, time: Scale, latencies: Scale, is_last: bool) -> Plot {
    Plot {
        horizontal: Axis::new(time, "since the start", words::seconds),
        vertical: Axis::new(latencies, "", words::time),
        marks: marks(entry),
        form: if is_last { Form::LastStrip } else { Form::Strip },
    }
}

#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn marks(entry: &Entry<'_>) -> Vec<Mark> {
    let slices = entry.outcome.timeline().slices();
    let top = |slice: &Slice| {
        let (from, until) = stretch(entry, slice);
        (from, until, slice.max as f64)
    };
    let dots =
        entry.outcome.worst().iter().map(|one| (since(entry, one.at_ns), one.latency_ns.as_nanos() as f64));
    let mut marks: Vec<Mark> = shades(entry);
    marks.push(Mark::Cells { hue: Hue::of(0), cells: cells(entry) });
    marks.push(Mark::Tops { hue: Hue::of(0), tops: slices.iter().map(top).collect() });
    marks.push(Mark::Dots { hue: Hue::of(1), points: dots.collect(), radius: 2.5 });
    let troubled = slices.iter().filter(|slice| slice.missed_periods + slice.lost > 0);
    marks.extend(troubled.map(|slice| {
        let (from, until) = stretch(entry, slice);
        Mark::Flag { hue: Hue::of(1), at: f64::midpoint(from, until) }
    }));
    marks
}

/// From when to when, in seconds since the start.
fn stretch(entry: &Entry<'_>, slice: &Slice) -> (f64, f64) {
    (since(entry, slice.from), since(entry, slice.until))
}

/// How many wake-ups were how late in each stretch; a column's weight grows with the logarithm of its count.
#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn cells(entry: &Entry<'_>) -> Vec<Cell> {
    let slices = entry.outcome.timeline().slices();
    let fullest =
        slices.iter().flat_map(|slice| slice.columns.iter()).map(|column| column.count).max().unwrap_or(1);
    let weight = |count: u64| (count as f64).ln_1p() / (fullest as f64).ln_1p();
    let of = |slice: &Slice| -> Vec<Cell> {
        let (from, until) = stretch(entry, slice);
        let cell = |column: Column| Cell {
            from,
            until,
            low: column.from as f64,
            high: column.until as f64,
            weight: weight(column.count),
        };
        slice.columns.iter().map(cell).collect()
    };
    slices.iter().flat_map(of).collect()
}

/// The turns under a background load.
fn shades(entry: &Entry<'_>) -> Vec<Mark> {
    if entry.outcome.condition.load.is_idle() {
        return Vec::new();
    }
    let turns = entry.outcome.timeline().turns().iter();
    let shade = |turn: &howlate_analyse::Turn| {
        let until = turn.until?;
        Some(Mark::Shade { from: since(entry, turn.from), until: since(entry, until) })
    };
    turns.filter_map(shade).collect()
}

fn table_of(entry: &Entry<'_>) -> String {
    let headings =
        ["from_s", "until_s", "wake_ups", "min_ns", "max_ns", "missed_periods", "lost"].map(str::to_owned);
    let row = |slice: &Slice| {
        vec![
            format!("{:.3}", since(entry, slice.from)),
            format!("{:.3}", since(entry, slice.until)),
            slice.columns.count().to_string(),
            slice.min.to_string(),
            slice.max.to_string(),
            slice.missed_periods.to_string(),
            slice.lost.to_string(),
        ]
    };
    data::csv(&headings, entry.outcome.timeline().slices().iter().map(row))
}

/// When the three worst of each condition came.
fn numbers(entries: &[Entry<'_>]) -> Table {
    let parts = varying(entries);
    let row = |entry: &Entry<'_>| {
        let worst = |number: usize| {
            entry.outcome.worst().get(number).map_or_else(
                || "–".to_owned(),
                |one| format!("{} at {:.3} s", one.latency_ns, since(entry, one.at_ns)),
            )
        };
        vec![name(entry, &parts), count(entry.outcome.missed_periods()), worst(0), worst(1), worst(2)]
    };
    Table::plain(
        "The worst wake-ups, and when they came",
        &["condition", "missed periods", "worst", "second", "third"],
        1,
        entries.iter().map(row).collect(),
    )
}
