//! Latency over time: a strip for each condition.

use std::cmp::Reverse;
use std::ops::Range;

use howlate_analyse::{LatencyColumn, TimeSlice};
use howlate_model::{Latency, MonotonicTime, WorstWakeup};
use howlate_render::numbers::{count, length};
use howlate_render::scale::Scale;

use super::series::left_out;
use super::{Chart, ChartPanel, Picture, deadline_rule, formats};
use crate::chart::{Axis, Drawing, Hue, Mark, Plot, PlotForm, SHADES};
use crate::condition_names::{name, varying};
use crate::deadline;
use crate::entry::Entry;
use crate::table::ReportTable;

/// Maximum strips: the conditions with the largest latencies.
const STRIPS: usize = 12;
/// Cells of each strip, and marked worst wake-ups.
const COLUMNS: usize = 200;
const ROWS: usize = 28;
const SPOTS: usize = 5;

/// `None` with fewer than two slices of time.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let stretches = |entry: &Entry<'_>| entry.outcome.timeline().slices().len();
    if entries.iter().all(|entry| stretches(entry) < 2) {
        return None;
    }
    let mut selected: Vec<Entry<'_>> = entries.iter().copied().filter(|entry| stretches(entry) > 0).collect();
    let mut by_max: Vec<usize> = (0..selected.len()).collect();
    by_max.sort_by_key(|place| Reverse(selected[*place].max()));
    by_max.truncate(STRIPS);
    by_max.sort_unstable();
    selected = by_max.into_iter().map(|place| selected[place]).collect();
    let parts = varying(entries);
    let (end, latencies) = (end_of(&selected)?, latencies(&selected));
    let last = selected.len() - 1;
    let strip = |(number, entry): (usize, &Entry<'_>)| ChartPanel {
        heading: name(entry, &parts),
        drawing: Drawing::Plot(plot(entry, Scale::exactly(0.0, end), latencies, number == last)),
        legend: Vec::new(),
        data: table_of(entry),
    };
    Some(Picture {
        kind: Chart::Time,
        title: title(entries),
        about: about(&selected, latencies),
        left_out: left_out(entries.len() - selected.len()),
        panels: selected.iter().enumerate().map(strip).collect(),
        numbers: Some(numbers(&selected)),
    })
}

/// Explanation, which includes the deadline: in low strips its label would cover the marks.
fn about(selected: &[Entry<'_>], latencies: Scale) -> String {
    let is_drawn = |entry: &Entry<'_>| deadline_rule(entry.deadline(), latencies).is_some();
    let deadline = match deadline::common(selected) {
        Some(deadline) => format!(" Dotted: the deadline, {}.", length(deadline)),
        None => " Dotted: the deadline.".to_owned(),
    };
    format!(
        "One strip per condition, all on the same axes. The stronger the colour, the more wake-ups were that late; the line above is the \
         worst of each stretch of time, dots are the worst of all. Grey stretches ran under a background load; triangles \
         mark missed periods and lost wake-ups.{}",
        if selected.iter().any(is_drawn) { deadline } else { String::new() }
    )
}

/// Seconds since the recording began.
fn since(entry: &Entry<'_>, at: MonotonicTime) -> f64 {
    at.since(entry.recording.analysis.header.at).as_secs_f64()
}

fn end_of(entries: &[Entry<'_>]) -> Option<f64> {
    let end = |entry: &Entry<'_>| Some(since(entry, entry.outcome.timeline().slices().last()?.until));
    entries.iter().filter_map(end).max_by(f64::total_cmp).filter(|end| *end > 0.0)
}

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
            let at = since(entry, worst.at);
            format!("The worst wake-up came {} late, {at:.1} s after the start{about}", worst.latency)
        }
    }
}

fn plot(entry: &Entry<'_>, time: Scale, latencies: Scale, is_last: bool) -> Plot {
    Plot {
        horizontal: Axis::new(time, "since the start", formats::seconds),
        vertical: Axis::new(latencies, "", formats::time),
        marks: marks(entry, time, latencies),
        form: if is_last { PlotForm::LastStrip } else { PlotForm::Strip },
        ends: Vec::new(),
    }
}

fn marks(entry: &Entry<'_>, time: Scale, latencies: Scale) -> Vec<Mark> {
    let slices = entry.outcome.timeline().slices();
    let top = |slice: &TimeSlice| {
        let (from, until) = stretch(entry, slice);
        (from, until, slice.max as f64)
    };
    let spot = |worst: &WorstWakeup| {
        let at = since(entry, worst.at);
        ((at, worst.latency.as_nanos() as f64), format!("{} late, {at:.3} s after the start", worst.latency))
    };
    let mut marks: Vec<Mark> = shades(entry);
    marks.push(heat(entry, time, latencies));
    marks.extend(deadline_rule(entry.deadline(), latencies).map(Mark::without_label));
    marks.push(Mark::Tops { hue: Hue::nth(0), tops: slices.iter().map(top).collect() });
    let with_losses = slices.iter().filter(|slice| slice.missed_periods + slice.lost > 0);
    marks.extend(with_losses.map(|slice| {
        let (from, until) = stretch(entry, slice);
        Mark::Flag { hue: Hue::nth(1), at: f64::midpoint(from, until) }
    }));
    let spots = entry.outcome.worst().iter().take(SPOTS).map(spot).collect();
    marks.push(Mark::Spots { hue: Hue::nth(1), spots });
    marks
}

/// Start and end of a slice in seconds.
fn stretch(entry: &Entry<'_>, slice: &TimeSlice) -> (f64, f64) {
    (since(entry, slice.from), since(entry, slice.until))
}

/// Wake-ups by time and latency; the shade is logarithmic.
fn heat(entry: &Entry<'_>, time: Scale, latencies: Scale) -> Mark {
    let mut counts = vec![0.0; COLUMNS * ROWS];
    for slice in entry.outcome.timeline().slices() {
        let (from, until) = stretch(entry, slice);
        let columns = cells(time.place(from), time.place(until), COLUMNS);
        for column in slice.columns.iter() {
            add(&mut counts, &columns, latencies, column);
        }
    }
    let fullest = counts.iter().copied().fold(1.0, f64::max).ln_1p();
    Mark::Heat {
        hue: Hue::nth(0),
        rows: ROWS,
        columns: COLUMNS,
        shades: counts.into_iter().map(|count| shade_of(count.ln_1p() / fullest)).collect(),
    }
}

/// Distributes the wake-ups of a column of latencies over its cells.
fn add(counts: &mut [f64], columns: &Range<usize>, latencies: Scale, column: LatencyColumn) {
    let [low, high] = [column.from, column.until].map(|nanos| latencies.place(nanos as f64));
    let rows = cells(low, high, ROWS);
    let each = column.count as f64 / (rows.len() * columns.len()) as f64;
    for row in rows {
        let begin = (ROWS - 1 - row) * COLUMNS;
        counts[begin + columns.start..begin + columns.end].iter_mut().for_each(|count| *count += each);
    }
}

/// The cells between two positions, at least one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places")]
fn cells(from: f64, until: f64, all: usize) -> Range<usize> {
    let first = ((from * all as f64) as usize).min(all - 1);
    let end = ((until * all as f64).round() as usize).clamp(first + 1, all);
    first..end
}

/// 0 without wake-ups, otherwise 1 to [`SHADES`].
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a handful")]
fn shade_of(weight: f64) -> u8 {
    if weight <= 0.0 { 0 } else { ((weight * f64::from(SHADES)) as u8 + 1).min(SHADES) }
}

/// Turns under a background load.
fn shades(entry: &Entry<'_>) -> Vec<Mark> {
    if entry.outcome.condition.load.is_idle() {
        return Vec::new();
    }
    let turns = entry.outcome.timeline().turns().iter();
    let shade = |turn: &howlate_analyse::TurnPeriod| {
        let until = turn.until?;
        Some(Mark::Shade { from: since(entry, turn.from), until: since(entry, until) })
    };
    turns.filter_map(shade).collect()
}

fn table_of(entry: &Entry<'_>) -> String {
    let headings =
        ["from_s", "until_s", "wake_ups", "min_ns", "max_ns", "missed_periods", "lost"].map(str::to_owned);
    let row = |slice: &TimeSlice| {
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
    formats::csv(&headings, entry.outcome.timeline().slices().iter().map(row))
}

/// Times of the three worst wake-ups.
fn numbers(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let row = |entry: &Entry<'_>| {
        let cell = |number: usize| {
            entry.outcome.worst().get(number).map_or_else(
                || "–".to_owned(),
                |worst| format!("{} at {:.3} s", worst.latency, since(entry, worst.at)),
            )
        };
        vec![name(entry, &parts), count(entry.outcome.missed_periods()), cell(0), cell(1), cell(2)]
    };
    ReportTable::plain(
        "The worst wake-ups, and when they came",
        &["condition", "missed periods", "worst", "second", "third"],
        1,
        entries.iter().map(row).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wake_up_leaves_the_heat_map() {
        let mut counts = vec![0.0; COLUMNS * ROWS];
        let latencies = Scale::logarithmic(1e3, 1e6);
        for (from, until, count) in
            [(1, 2, 3), (1_000, 1_100, 5), (999_999, 2_000_000, 7), (5_000, 80_000, 11)]
        {
            add(&mut counts, &cells(0.999, 1.0, COLUMNS), latencies, LatencyColumn { from, until, count });
        }
        assert!((counts.iter().sum::<f64>() - 26.0).abs() < 1e-9);
        assert!(counts[COLUMNS - 1] >= 7.0 && counts[ROWS * COLUMNS - 1] >= 3.0, "the latest are on top");
    }

    #[test]
    fn a_single_wake_up_has_a_shade() {
        assert_eq!([0.0, 1e-9, 0.5, 1.0].map(shade_of), [0, 1, SHADES / 2 + 1, SHADES]);
    }
}
