//! Latency by percentile, a curve for each condition.

use howlate_analyse::{CurvePoint, curve};
use howlate_model::{Latency, Span};
use howlate_render::numbers::at_least;
use howlate_render::scale::Scale;

use super::series::{self, PlotSeries};
use super::{Chart, ChartPanel, Picture, deadline_rule, formats};
use crate::chart::{Axis, Drawing, Hue, LineLabel, Mark, Plot, PlotForm};
use crate::condition_names::{Facet, name, varying};
use crate::deadline;
use crate::entry::Entry;
use crate::table::ReportTable;

/// A line for each condition.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Picture {
    let facets = series::panels(entries);
    let panels: Vec<CurvePanel<'_>> =
        facets.iter().map(|facet| CurvePanel::for_facet(facet, entries)).collect();
    let scale = scale(&panels, deadline::common(entries));
    Picture {
        kind: Chart::Percentiles,
        title: title(entries),
        about: "Latency by percentile; each step to the right leaves a tenth of the wake-ups. \
                The best and the worst have bands: 95 % intervals, for what changes within a hundredth \
                of the run, and beyond p99 within a three-hundredth; a run that is too short for one, or for how slowly the machine changes, has none. Missed periods count with the latency they would have had."
            .to_owned(),
        left_out: None,
        panels: panels.iter().map(|panels| panel(panels, scale, deadline::common(entries))).collect(),
        numbers: Some(numbers(entries)),
    }
}

/// The smallest tail in which every condition has a wake-up.
fn tail(entries: &[Entry<'_>]) -> f64 {
    let supported = |tail: &f64| entries.iter().all(|entry| entry.supports(*tail));
    [1e-4, 1e-3, 1e-2, 0.1].into_iter().find(supported).unwrap_or(0.5)
}

fn title(entries: &[Entry<'_>]) -> String {
    let (parts, tail) = (varying(entries), tail(entries));
    let late = |entry: &Entry<'_>| entry.outcome.planned().quantile(1.0 - tail).unwrap_or_default();
    let (best, worst) =
        (entries.iter().min_by_key(|entry| late(entry)), entries.iter().max_by_key(|entry| late(entry)));
    let one_in = formats::number(1.0 / tail);
    match (best, worst) {
        (Some(best), Some(worst)) if entries.len() > 1 => format!(
            "1 wake-up in {one_in} is later than {} ({}), up to {} ({})",
            late(best),
            name(best, &parts),
            late(worst),
            name(worst, &parts)
        ),
        (Some(only), _) => format!("1 wake-up in {one_in} is later than {}", late(only)),
        _ => String::new(),
    }
}

/// Position of a tail on the axis: each unit is a tenfold smaller tail.
fn place(tail: f64) -> f64 {
    -tail.log10()
}

/// Curves of a panel.
struct CurvePanel<'a> {
    heading: String,
    all: Vec<PlotSeries<'a>>,
    curves: Vec<Vec<CurvePoint>>,
}

impl<'a> CurvePanel<'a> {
    fn for_facet(facet: &Facet<'a>, entries: &[Entry<'_>]) -> Self {
        let all = series::series(&facet.entries);
        let banded =
            [entries.iter().min_by_key(|entry| p99(entry)), entries.iter().max_by_key(|entry| p99(entry))];
        let has_band = |series: &PlotSeries<'_>| {
            series.hue != Hue::Rest
                && banded.iter().flatten().any(|entry| std::ptr::eq(entry.outcome, series.entry.outcome))
        };
        let curves = all.iter().map(|series| curve(series.entry.outcome, has_band(series))).collect();
        Self { heading: facet.heading.clone(), all, curves }
    }

    fn points(&self) -> impl Iterator<Item = &CurvePoint> {
        self.curves.iter().flatten()
    }
}

fn p99(entry: &Entry<'_>) -> Option<Latency> {
    entry.outcome.planned().quantile(0.99)
}

/// One scale for all panels, extended to the deadline if near.
fn scale(panels: &[CurvePanel<'_>], deadline: Option<Span>) -> Scale {
    let late = || panels.iter().flat_map(CurvePanel::points).map(|point| point.latency.as_nanos().max(1));
    let (least, most) = (late().min().unwrap_or(1) as f64, late().max().unwrap_or(1) as f64);
    let near = deadline.map(|deadline| deadline.as_nanos() as f64).filter(|deadline| *deadline < 3.0 * most);
    Scale::logarithmic(least, most.max(near.unwrap_or(0.0)))
}

fn panel(curves_of_panel: &CurvePanel<'_>, scale: Scale, deadline: Option<Span>) -> ChartPanel {
    let CurvePanel { heading, all, curves } = curves_of_panel;
    let end = curves_of_panel.points().map(|point| place(point.tail)).fold(1.0, f64::max);
    let at = |point: &CurvePoint| (place(point.tail), point.latency.as_nanos() as f64);
    let bands = all.iter().zip(curves).filter_map(|(series, curve)| band(series, curve));
    let lines = all
        .iter()
        .zip(curves)
        .map(|(series, curve)| Mark::Line { hue: series.hue, points: curve.iter().map(at).collect() });
    let ends = all.iter().zip(curves).filter(|(series, _)| series.hue != Hue::Rest);
    let end_of = |(series, curve): (&PlotSeries<'_>, &Vec<CurvePoint>)| {
        Some(LineLabel { hue: series.hue, at: curve.last().map(at)?.1, text: series.name.clone() })
    };
    let plot = Plot {
        horizontal: Axis {
            explicit_ticks: shares(end),
            ..Axis::new(Scale::exactly(0.0, end), "share of wake-ups", formats::number)
        },
        vertical: Axis::new(scale, "at most this late", formats::time),
        marks: deadline_rule(deadline, scale).into_iter().chain(bands).chain(lines).collect(),
        form: PlotForm::Alone,
        ends: if all.len() > 1 { ends.filter_map(end_of).collect() } else { Vec::new() },
    };
    ChartPanel {
        heading: heading.clone(),
        drawing: Drawing::Plot(plot),
        legend: series::legend(all, |series| format!("p99 {}", p99(&series.entry).unwrap_or_default())),
        data: table_of(all, curves),
    }
}

/// The points of a curve that have an interval, as a band.
fn band(series: &PlotSeries<'_>, curve: &[CurvePoint]) -> Option<Mark> {
    let points: Vec<(f64, f64, f64)> = curve
        .iter()
        .filter_map(|point| {
            let interval = point.interval?;
            Some((place(point.tail), interval.low.as_nanos() as f64, interval.high.as_nanos() as f64))
        })
        .collect();
    (points.len() > 1).then_some(Mark::Band { hue: series.hue, points })
}

/// Ticks 0 %, 90 %, 99 %, 99.9 %, …
fn shares(end: f64) -> Vec<(f64, String)> {
    let mut shares = vec![(0.0, "0 %".to_owned()), (1.0, "90 %".to_owned()), (2.0, "99 %".to_owned())];
    shares.extend((3..=12_u8).map(|nines| {
        let digits = "9".repeat(usize::from(nines) - 2);
        (f64::from(nines), format!("99.{digits} %"))
    }));
    shares.retain(|(place, _)| *place <= end);
    shares
}

fn table_of(all: &[PlotSeries<'_>], curves: &[Vec<CurvePoint>]) -> String {
    let coloured: Vec<(&PlotSeries<'_>, &Vec<CurvePoint>)> =
        all.iter().zip(curves).filter(|(series, _)| series.hue != Hue::Rest).collect();
    let mut tails: Vec<f64> =
        coloured.iter().flat_map(|(_, curve)| curve.iter().map(|point| point.tail)).collect();
    tails.sort_by(|a, b| b.total_cmp(a));
    tails.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-9);
    let mut headings = vec!["percentile".to_owned()];
    for (series, _) in &coloured {
        headings.extend(["ns", "low_ns", "high_ns"].map(|unit| format!("{} {unit}", series.name)));
    }
    let row = |tail: &f64| {
        let mut row = vec![format!("{}", ((1.0 - tail) * 1e12).round() / 1e10)];
        for (_, curve) in &coloured {
            let point = curve.iter().find(|point| (point.tail / tail - 1.0).abs() < 1e-9);
            row.push(formats::optional(point.map(|point| point.latency.as_nanos())));
            let interval = point.and_then(|point| point.interval);
            row.push(formats::optional(interval.map(|interval| interval.low.as_nanos())));
            row.push(formats::optional(interval.map(|interval| interval.high.as_nanos())));
        }
        row
    };
    formats::csv(&headings, tails.iter().map(row))
}

/// Tails of the table.
const NAMED: [f64; 6] = [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5];

/// The percentiles that the number of wake-ups supports.
fn numbers(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let row = |entry: &Entry<'_>| {
        let planned = entry.outcome.planned();
        let cell = |tail: &f64| {
            let at = planned.quantile(1.0 - tail).filter(|_| entry.supports(*tail));
            at.map_or_else(|| "–".to_owned(), |at| at_least(planned.clipped() == Some(at), &at.to_string()))
        };
        std::iter::once(name(entry, &parts)).chain(NAMED.iter().map(cell)).collect()
    };
    ReportTable::plain(
        "Latency by percentile",
        &["condition", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"],
        1,
        entries.iter().map(row).collect(),
    )
}
