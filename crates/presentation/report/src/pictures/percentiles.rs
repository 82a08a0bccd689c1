//! How late at most, by share of wake-ups.

use howlate_analyse::{CurvePoint, curve};
use howlate_model::{Latency, Span};
use howlate_render::numbers::at_least;
use howlate_render::scale::Scale;

use super::series::{self, Series};
use super::{Chart, Panel, Picture, data, deadline_rule, words};
use crate::chart::{Axis, Drawing, End, Form, Hue, Mark, Plot};
use crate::condition_names::{Facet, name, varying};
use crate::deadline;
use crate::entry::Entry;
use crate::table::Table;

/// The picture of these recordings: a line for each condition.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Picture {
    let facets = series::panels(entries);
    let drawn: Vec<Drawn<'_>> = facets.iter().map(|facet| Drawn::for_facet(facet, entries)).collect();
    let scale = scale(&drawn, deadline::common(entries));
    Picture {
        kind: Chart::Percentiles,
        title: title(entries),
        about: "Latency by percentile; each step to the right leaves a tenth of the wake-ups. \
                The best and the worst have bands: 95 % intervals that account for how much stretches of time differ; \
                a run that is too short for one has none. Missed periods count with the latency they would have had."
            .to_owned(),
        left_out: None,
        panels: drawn.iter().map(|drawn| panel(drawn, scale, deadline::common(entries))).collect(),
        numbers: Some(numbers(entries)),
    }
}

/// The smallest of these shares of which every condition has a wake-up.
fn tail(entries: &[Entry<'_>]) -> f64 {
    let supported = |tail: &f64| entries.iter().all(|entry| entry.supports(*tail));
    [1e-4, 1e-3, 1e-2, 0.1].into_iter().find(supported).unwrap_or(0.5)
}

fn title(entries: &[Entry<'_>]) -> String {
    let (parts, tail) = (varying(entries), tail(entries));
    let late = |entry: &Entry<'_>| entry.outcome.planned().quantile(1.0 - tail).unwrap_or_default();
    let (best, worst) =
        (entries.iter().min_by_key(|one| late(one)), entries.iter().max_by_key(|one| late(one)));
    let one_in = words::number(1.0 / tail);
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

/// Where a share is along the axis: each unit is a tenfold smaller tail.
fn place(tail: f64) -> f64 {
    -tail.log10()
}

/// What a panel shows.
struct Drawn<'a> {
    heading: String,
    all: Vec<Series<'a>>,
    curves: Vec<Vec<CurvePoint>>,
}

impl<'a> Drawn<'a> {
    fn for_facet(facet: &Facet<'a>, entries: &[Entry<'_>]) -> Self {
        let all = series::series(&facet.entries);
        let banded = [entries.iter().min_by_key(|one| p99(one)), entries.iter().max_by_key(|one| p99(one))];
        let has_band = |one: &Series<'_>| {
            one.hue != Hue::Rest
                && banded.iter().flatten().any(|other| std::ptr::eq(other.outcome, one.entry.outcome))
        };
        let curves = all.iter().map(|one| curve(one.entry.outcome, has_band(one))).collect();
        Self { heading: facet.heading.clone(), all, curves }
    }

    fn points(&self) -> impl Iterator<Item = &CurvePoint> {
        self.curves.iter().flatten()
    }
}

fn p99(entry: &Entry<'_>) -> Option<Latency> {
    entry.outcome.planned().quantile(0.99)
}

/// One for all panels, so that they can be held against one another; with the deadline where it is near.
fn scale(drawn: &[Drawn<'_>], deadline: Option<Span>) -> Scale {
    let late = || drawn.iter().flat_map(Drawn::points).map(|point| point.latency.as_nanos().max(1));
    let (least, most) = (late().min().unwrap_or(1) as f64, late().max().unwrap_or(1) as f64);
    let near = deadline.map(|one| one.as_nanos() as f64).filter(|deadline| *deadline < 3.0 * most);
    Scale::logarithmic(least, most.max(near.unwrap_or(0.0)))
}

fn panel(drawn: &Drawn<'_>, scale: Scale, deadline: Option<Span>) -> Panel {
    let Drawn { heading, all, curves } = drawn;
    let end = drawn.points().map(|point| place(point.tail)).fold(1.0, f64::max);
    let at = |point: &CurvePoint| (place(point.tail), point.latency.as_nanos() as f64);
    let bands = all.iter().zip(curves).filter_map(|(one, curve)| band(one, curve));
    let lines = all
        .iter()
        .zip(curves)
        .map(|(one, curve)| Mark::Line { hue: one.hue, points: curve.iter().map(at).collect() });
    let ends = all.iter().zip(curves).filter(|(one, _)| one.hue != Hue::Rest);
    let end_of = |(one, curve): (&Series<'_>, &Vec<CurvePoint>)| {
        Some(End { hue: one.hue, at: curve.last().map(at)?.1, text: one.name.clone() })
    };
    let plot = Plot {
        horizontal: Axis {
            named: shares(end),
            ..Axis::new(Scale::exactly(0.0, end), "share of wake-ups", words::number)
        },
        vertical: Axis::new(scale, "at most this late", words::time),
        marks: deadline_rule(deadline, scale).into_iter().chain(bands).chain(lines).collect(),
        form: Form::Alone,
        ends: if all.len() > 1 { ends.filter_map(end_of).collect() } else { Vec::new() },
    };
    Panel {
        heading: heading.clone(),
        drawing: Drawing::Plot(plot),
        legend: series::legend(all, |one| format!("p99 {}", p99(&one.entry).unwrap_or_default())),
        data: table_of(all, curves),
    }
}

/// The bands of a curve: one for each run of points that have an interval.
fn band(one: &Series<'_>, curve: &[CurvePoint]) -> Option<Mark> {
    let points: Vec<(f64, f64, f64)> = curve
        .iter()
        .filter_map(|point| {
            let interval = point.interval?;
            Some((place(point.tail), interval.low.as_nanos() as f64, interval.high.as_nanos() as f64))
        })
        .collect();
    (points.len() > 1).then_some(Mark::Band { hue: one.hue, points })
}

/// 0 %, 50 %, 90 %, 99 %, 99.9 %, ….
fn shares(end: f64) -> Vec<(f64, String)> {
    let mut shares = vec![(0.0, "0 %".to_owned()), (1.0, "90 %".to_owned()), (2.0, "99 %".to_owned())];
    shares.extend((3..=12_u8).map(|nines| {
        let digits = "9".repeat(usize::from(nines) - 2);
        (f64::from(nines), format!("99.{digits} %"))
    }));
    shares.retain(|(place, _)| *place <= end);
    shares
}

fn table_of(all: &[Series<'_>], curves: &[Vec<CurvePoint>]) -> String {
    let drawn: Vec<(&Series<'_>, &Vec<CurvePoint>)> =
        all.iter().zip(curves).filter(|(one, _)| one.hue != Hue::Rest).collect();
    let mut tails: Vec<f64> =
        drawn.iter().flat_map(|(_, curve)| curve.iter().map(|point| point.tail)).collect();
    tails.sort_by(|one, other| other.total_cmp(one));
    tails.dedup_by(|one, other| (*one / *other - 1.0).abs() < 1e-9);
    let mut headings = vec!["percentile".to_owned()];
    for (one, _) in &drawn {
        headings.extend(["ns", "low_ns", "high_ns"].map(|unit| format!("{} {unit}", one.name)));
    }
    let row = |tail: &f64| {
        let mut row = vec![format!("{}", ((1.0 - tail) * 1e12).round() / 1e10)];
        for (_, curve) in &drawn {
            let point = curve.iter().find(|point| (point.tail / tail - 1.0).abs() < 1e-9);
            row.push(data::optional(point.map(|point| point.latency.as_nanos())));
            let interval = point.and_then(|point| point.interval);
            row.push(data::optional(interval.map(|one| one.low.as_nanos())));
            row.push(data::optional(interval.map(|one| one.high.as_nanos())));
        }
        row
    };
    data::csv(&headings, tails.iter().map(row))
}

/// Tails that the table names.
const NAMED: [f64; 6] = [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5];

/// The percentiles that the number of wake-ups supports.
fn numbers(entries: &[Entry<'_>]) -> Table {
    let parts = varying(entries);
    let row = |entry: &Entry<'_>| {
        let all = entry.outcome.planned();
        let cell = |tail: &f64| {
            let at = all.quantile(1.0 - tail).filter(|_| entry.supports(*tail));
            at.map_or_else(|| "–".to_owned(), |at| at_least(all.clipped() == Some(at), &at.to_string()))
        };
        std::iter::once(name(entry, &parts)).chain(NAMED.iter().map(cell)).collect()
    };
    Table::plain(
        "Latency by percentile",
        &["condition", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"],
        1,
        entries.iter().map(row).collect(),
    )
}
