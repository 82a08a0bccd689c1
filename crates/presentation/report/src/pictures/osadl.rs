//! A histogram for each CPU with logarithmic counts, as OSADL plots it: the whole range,
//! and the common part enlarged.

use std::collections::BTreeMap;

use howlate_analyse::{LatencyColumn, LatencyColumns, equal_columns};
use howlate_model::Latency;
use howlate_render::numbers::{count, length};
use howlate_render::scale::Scale;

use super::series::{self, PlotSeries, left_out, per_condition};
use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Along, Axis, Drawing, Hue, Mark, Plot, PlotForm};
use crate::condition_names::{Facet, name, varying};
use crate::deadline;
use crate::entry::Entry;
use crate::table::ReportTable;

/// Columns of the enlarged part.
const COLUMNS: usize = 100;

pub(crate) fn picture(entries: &[Entry<'_>]) -> Picture {
    let (facets, not_drawn) = per_condition(entries);
    Picture {
        kind: Chart::Osadl,
        title: title(entries),
        about: "A histogram for each CPU; counts are on a logarithmic scale, so that a single wake-up can be seen. \
                Triangles mark the largest. The whole range comes first, then the common part in equal steps, with the \
                number of wake-ups beyond it. Missed periods count with the latency they would have had."
            .to_owned(),
        left_out: left_out(not_drawn),
        panels: facets.iter().flat_map(|facet| [whole(facet), enlarged(facet)]).collect(),
        numbers: Some(reached(entries)),
    }
}

fn title(entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let (least, most) =
        (entries.iter().min_by_key(|entry| entry.max()), entries.iter().max_by_key(|entry| entry.max()));
    let max = |entry: &Entry<'_>| Latency::from_nanos(entry.max());
    match (least, most) {
        (Some(least), Some(most)) if entries.len() > 1 => format!(
            "The worst wake-up came {} late ({}); with {} the worst was {}",
            max(most),
            name(most, &parts),
            name(least, &parts),
            max(least)
        ),
        (_, Some(only)) => {
            let p99 = Latency::from_nanos(only.judged_summary().map_or(0, |summary| summary.p99));
            format!("99 of 100 wake-ups came within {p99}; the worst was {} late", max(only))
        }
        _ => String::new(),
    }
}

fn whole(facet: &Facet<'_>) -> ChartPanel {
    let all = series::series(&facet.entries);
    let columns: Vec<Vec<LatencyColumn>> = all
        .iter()
        .map(|series| LatencyColumns::from_distribution(&series.entry.outcome.planned()).iter().collect())
        .collect();
    let border = |of: fn(&LatencyColumn) -> u64| columns.iter().flatten().map(of);
    let least = border(|column| column.from).min().unwrap_or(1).max(1);
    let most = border(|column| column.until).max().unwrap_or(1);
    let fullest = border(|column| column.count).max().unwrap_or(1);
    let mut marks: Vec<Mark> = Vec::new();
    for (series, columns) in all.iter().zip(&columns) {
        let step = |column: &LatencyColumn| (column.from as f64, column.until as f64, column.count as f64);
        marks.push(Mark::Steps {
            hue: series.hue,
            steps: columns.iter().map(step).collect(),
            filled: all.len() == 1,
        });
    }
    marks.extend(flags(&all));
    let scale = Scale::logarithmic(least as f64, most as f64);
    marks.extend(deadline_rule(&facet.entries, scale));
    ChartPanel {
        heading: heading(facet, "whole range"),
        drawing: plot(scale, fullest, marks),
        legend: series::legend(&all, |series| format!("max {}", Latency::from_nanos(series.entry.max()))),
        data: table_of(&all, &columns),
    }
}

/// A vertical rule at the deadline, if within the axis.
fn deadline_rule(entries: &[Entry<'_>], scale: Scale) -> Option<Mark> {
    let deadline = deadline::common(entries)?;
    let at = deadline.as_nanos() as f64;
    let rule = Mark::Rule { along: Along::Vertical, at, text: format!("deadline {}", length(deadline)) };
    (scale.from()..=scale.to()).contains(&at).then_some(rule)
}

fn heading(facet: &Facet<'_>, part: &str) -> String {
    if facet.heading.is_empty() { part.to_owned() } else { format!("{}: {part}", facet.heading) }
}

/// Triangles at the maxima.
fn flags(all: &[PlotSeries<'_>]) -> Vec<Mark> {
    let coloured = all.iter().filter(|series| series.hue != Hue::Rest);
    coloured.map(|series| Mark::Flag { hue: series.hue, at: series.entry.max() as f64 }).collect()
}

fn plot(horizontal: Scale, fullest: u64, marks: Vec<Mark>) -> Drawing {
    // A column of a single wake-up must be visible above the bottom.
    let counts = Scale::logarithmic(0.5, fullest as f64);
    Drawing::Plot(Plot {
        horizontal: Axis::new(horizontal, "latency", formats::time),
        vertical: Axis {
            explicit_ticks: whole_counts(counts),
            ..Axis::new(counts, "wake-ups per column", formats::number)
        },
        marks,
        form: PlotForm::Alone,
        ends: Vec::new(),
    })
}

/// Ticks from 1 on.
fn whole_counts(scale: Scale) -> Vec<(f64, String)> {
    scale.ticks(7).into_iter().filter(|tick| *tick >= 1.0).map(|tick| (tick, formats::number(tick))).collect()
}

/// CSV of the coloured series.
fn table_of(all: &[PlotSeries<'_>], columns: &[Vec<LatencyColumn>]) -> String {
    let coloured = all.iter().zip(columns).filter(|(series, _)| series.hue != Hue::Rest);
    let columns_by_name: Vec<_> =
        coloured.map(|(series, columns)| (series.name.clone(), columns.clone())).collect();
    counts_by_column(&columns_by_name)
}

/// CSV with one row per column of any series, one count per series.
pub(super) fn counts_by_column(all: &[(String, Vec<LatencyColumn>)]) -> String {
    let mut rows: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for (place, (_, columns)) in all.iter().enumerate() {
        for column in columns {
            let row = rows.entry((column.from, column.until)).or_insert_with(|| vec![0; all.len()]);
            row[place] = column.count;
        }
    }
    let mut headings = vec!["from_ns".to_owned(), "until_ns".to_owned()];
    headings.extend(all.iter().map(|(name, _)| name.clone()));
    let row = |((from, until), counts): (&(u64, u64), &Vec<u64>)| {
        [*from, *until].iter().chain(counts).map(ToString::to_string).collect()
    };
    formats::csv(&headings, rows.iter().map(row))
}

/// End of the enlarged part: a round number above the usual latencies of every series.
fn usual(entries: &[Entry<'_>]) -> u64 {
    let p90 = entries.iter().filter_map(Entry::judged_summary).map(|summary| summary.p90).max();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let end = Scale::linear(0.0, p90.unwrap_or(1).max(1) as f64 * 1.5).to().round() as u64;
    end.max(COLUMNS as u64)
}

fn enlarged(facet: &Facet<'_>) -> ChartPanel {
    let all = series::series(&facet.entries);
    let end = usual(&facet.entries);
    let width = end / COLUMNS as u64;
    let counted: Vec<(Vec<u64>, u64)> =
        all.iter().map(|series| equal_columns(&series.entry.outcome.planned(), width, COLUMNS)).collect();
    let fullest = counted.iter().flat_map(|(counts, _)| counts).copied().max().unwrap_or(1);
    let columns: Vec<Vec<LatencyColumn>> = counted.iter().map(|(counts, _)| equal(counts, width)).collect();
    let step = |column: &LatencyColumn| (column.from as f64, column.until as f64, column.count as f64);
    let marks = all.iter().zip(&columns).map(|(series, columns)| Mark::Steps {
        hue: series.hue,
        steps: columns.iter().map(step).collect(),
        filled: all.len() == 1,
    });
    let beyond = |series: &PlotSeries<'_>| {
        let place = all.iter().position(|other| other.name == series.name).unwrap_or(0);
        format!("{} beyond", count(counted[place].1))
    };
    let part = format!("up to {}", Latency::from_nanos(i64::try_from(end).unwrap_or(i64::MAX)));
    ChartPanel {
        heading: heading(facet, &part),
        drawing: plot(Scale::exactly(0.0, end as f64), fullest, marks.collect()),
        legend: series::legend(&all, beyond),
        data: table_of(&all, &columns),
    }
}

fn equal(counts: &[u64], width: u64) -> Vec<LatencyColumn> {
    let column = |(place, count): (usize, &u64)| {
        let from = place as u64 * width;
        LatencyColumn { from, until: from + width, count: *count }
    };
    counts.iter().enumerate().map(column).filter(|column| column.count > 0).collect()
}

/// Wake-ups of each condition above each power of ten.
pub(super) fn reached(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let steps: Vec<u64> = (3..=8).map(|power| 10_u64.pow(power)).collect();
    let row = |entry: &Entry<'_>| {
        let columns = LatencyColumns::from_distribution(&entry.outcome.planned());
        let later = |border: &u64| {
            let all: u64 =
                columns.iter().filter(|column| column.from >= *border).map(|column| column.count).sum();
            count(all)
        };
        let mut row = vec![name(entry, &parts), count(entry.outcome.planned().count())];
        row.extend(steps.iter().map(later));
        row.push(Latency::from_nanos(entry.max()).to_string());
        row
    };
    let mut headings = vec!["condition".to_owned(), "planned wake-ups".to_owned()];
    headings.extend(steps.iter().map(|step| format!("≥ about {}", formats::time(*step as f64))));
    headings.push("max".to_owned());
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    ReportTable::plain(
        "How many wake-ups were at least this late",
        &headings,
        1,
        entries.iter().map(row).collect(),
    )
}
