//! Latency by length of sleep, with idle states and timer slack.

use howlate_analyse::{Insight, LatenessStep, insights};
use howlate_model::{Latency, Property, Span};
use howlate_render::scale::Scale;
use howlate_render::steps_headline;

use super::series::left_out;
use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Along, Axis, Drawing, HUES, Hue, LegendEntry, LegendSymbol, Mark, Plot, PlotForm};
use crate::condition_names::{NamePart, name, varying};
use crate::entry::Entry;
use crate::table::ReportTable;

const MIN_LENGTHS: usize = 3;

/// A condition at several lengths, in ascending order.
struct Flight<'a> {
    name: String,
    entries: Vec<Entry<'a>>,
}

/// `None` without several lengths.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let mut flights = flights(entries);
    let all = flights.len();
    flights.truncate(HUES);
    if flights.is_empty() {
        return None;
    }
    let numbers = numbers(&flights);
    Some(Picture {
        kind: Chart::Staircase,
        title: title(entries, &flights),
        about: "Lines: the median by length of sleep; bands: from the smallest to the 99th percentile. Vertical lines: the \
                length from which the kernel may enter an idle state; horizontal lines: how long leaving it may take, and \
                the timer slack."
            .to_owned(),
        left_out: left_out(all - flights.len()),
        panels: vec![panel(&flights)],
        numbers: Some(numbers),
    })
}

fn flights<'a>(entries: &[Entry<'a>]) -> Vec<Flight<'a>> {
    let length = |entry: &Entry<'_>| entry.work().length();
    let sleeps: Vec<Entry<'a>> =
        entries.iter().copied().filter(|entry| entry.is_sleep() && !length(entry).is_zero()).collect();
    let parts: Vec<_> =
        varying(&sleeps).into_iter().filter(|part| *part != NamePart::Of(Property::Length)).collect();
    let mut flights: Vec<Flight<'a>> = Vec::new();
    for entry in sleeps {
        let name = name(&entry, &parts);
        match flights.iter_mut().find(|flight| flight.name == name) {
            Some(flight) => flight.entries.push(entry),
            None => flights.push(Flight { name, entries: vec![entry] }),
        }
    }
    flights.iter_mut().for_each(|flight| flight.entries.sort_by_key(length));
    flights.retain(|flight| flight.entries.len() >= MIN_LENGTHS);
    flights
}

/// A detected step; otherwise the latencies at both ends.
fn title(entries: &[Entry<'_>], flights: &[Flight<'_>]) -> String {
    let analyses = entries.iter().map(|entry| entry.recording.analysis);
    if let Some(steps) = analyses.clone().take(1).find_map(steps_headline) {
        return steps.trim_end_matches('.').to_owned();
    }
    let step = analyses.take(1).flat_map(insights).find_map(|insight| match insight {
        Insight::Step(LatenessStep { below, above, median_below, median_above, .. }) => Some(format!(
            "A step: sleeps of {below} return {median_below} late, sleeps of {above} {median_above}"
        )),
        _ => None,
    });
    step.or_else(|| {
        let flight = flights.first()?;
        let (short, long) = (flight.entries.first()?, flight.entries.last()?);
        let median = |entry: &Entry<'_>| entry.outcome.latency().quantile(0.5);
        Some(format!(
            "A sleep of {} returns {} late, one of {} {}",
            short.work().length(),
            median(short)?,
            long.work().length(),
            median(long)?
        ))
    })
    .unwrap_or_default()
}

fn point(entry: &Entry<'_>, quantile: f64) -> Option<(f64, f64)> {
    let latency = entry.outcome.latency().quantile(quantile)?;
    Some((entry.work().length().as_nanos() as f64, latency.as_nanos().max(1) as f64))
}

fn panel(flights: &[Flight<'_>]) -> ChartPanel {
    let mut marks = Vec::new();
    for (number, flight) in flights.iter().enumerate() {
        let hue = Hue::nth(number);
        let band = |entry: &Entry<'_>| {
            let ((x, low), (_, high)) = (point(entry, 0.0)?, point(entry, 0.99)?);
            Some((x, low, high))
        };
        let line: Vec<(f64, f64)> = flight.entries.iter().filter_map(|entry| point(entry, 0.5)).collect();
        marks.push(Mark::Band { hue, points: flight.entries.iter().filter_map(band).collect() });
        marks.push(Mark::Line { hue, points: line.clone() });
        marks.push(Mark::Dots { hue, points: line, radius: 2.5 });
    }
    let (lengths, latencies) = (scale(flights, |point| point.0), scale(flights, |point| point.1));
    marks.extend(rules(flights, lengths, latencies));
    let numbered_flights = flights.iter().enumerate();
    ChartPanel {
        heading: String::new(),
        drawing: Drawing::Plot(Plot {
            horizontal: Axis::new(lengths, "asked to sleep", formats::time),
            vertical: Axis::new(latencies, "late", formats::time),
            marks,
            form: PlotForm::Alone,
            ends: Vec::new(),
        }),
        legend: numbered_flights
            .map(|(number, flight)| LegendEntry {
                hue: Hue::nth(number),
                text: flight.name.clone(),
                symbol: LegendSymbol::Line,
            })
            .collect(),
        data: table_of(flights),
    }
}

fn scale(flights: &[Flight<'_>], of: fn((f64, f64)) -> f64) -> Scale {
    let points = || {
        let entries = flights.iter().flat_map(|flight| &flight.entries);
        entries.flat_map(|entry| [point(entry, 0.0), point(entry, 0.99)]).flatten().map(of)
    };
    Scale::logarithmic(points().fold(f64::INFINITY, f64::min), points().fold(1.0, f64::max))
}

/// Rules for idle states and timer slack within the axes.
fn rules(flights: &[Flight<'_>], lengths: Scale, latencies: Scale) -> Vec<Mark> {
    let within = |scale: Scale, at: f64| at > scale.from() && at < scale.to();
    let entries = || flights.iter().flat_map(|flight| &flight.entries);
    let mut slacks: Vec<Span> = entries()
        .filter_map(|entry| entry.outcome.in_force.as_ref())
        .map(|in_force| in_force.slack)
        .filter(|slack| !slack.is_zero())
        .collect();
    slacks.sort_unstable();
    slacks.dedup();
    let system = entries().next().map(Entry::system);
    let states = system.and_then(|system| system.cpus.first()).map(|cpu| cpu.idle_states.as_slice());
    let states = states.unwrap_or_default().iter().filter(|state| !state.disabled);
    let mut rules: Vec<Mark> = slacks
        .iter()
        .map(|slack| (slack.as_nanos() as f64, format!("timer slack {slack}")))
        .filter(|(at, _)| within(latencies, *at))
        .map(|(at, text)| Mark::Rule { along: Along::Horizontal, at, text })
        .collect();
    for state in states {
        let (enter, leave) = (state.residency_us as f64 * 1e3, state.exit_latency_us as f64 * 1e3);
        if within(lengths, enter) {
            let text = format!("{} from {} on", state.name, formats::time(enter));
            rules.push(Mark::Rule { along: Along::Vertical, at: enter, text });
        }
        if within(latencies, leave) {
            let text = format!("leaving {} {}", state.name, formats::time(leave));
            rules.push(Mark::Rule { along: Along::Horizontal, at: leave, text });
        }
    }
    rules
}

fn table_of(flights: &[Flight<'_>]) -> String {
    let mut lengths: Vec<Span> =
        flights.iter().flat_map(|flight| &flight.entries).map(|entry| entry.work().length()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut headings = vec!["length_ns".to_owned()];
    for flight in flights {
        headings.extend(["min", "p50", "p99"].map(|which| format!("{} {which} ns", flight.name)));
    }
    let row = |length: &Span| {
        let mut row = vec![length.as_nanos().to_string()];
        for flight in flights {
            let entry = flight.entries.iter().find(|entry| entry.work().length() == *length);
            let at = |quantile| entry.and_then(|entry| entry.outcome.latency().quantile(quantile));
            row.extend(
                [0.0, 0.5, 0.99].map(|quantile| formats::optional(at(quantile).map(Latency::as_nanos))),
            );
        }
        row
    };
    formats::csv(&headings, lengths.iter().map(row))
}

fn numbers(flights: &[Flight<'_>]) -> ReportTable {
    let row = |flight: &Flight<'_>, entry: &Entry<'_>| {
        let at = |quantile| {
            entry.outcome.latency().quantile(quantile).map_or_else(String::new, |at| at.to_string())
        };
        vec![flight.name.clone(), entry.work().length().to_string(), at(0.0), at(0.5), at(0.99)]
    };
    let rows = flights.iter().flat_map(|flight| flight.entries.iter().map(move |entry| row(flight, entry)));
    ReportTable::plain(
        "How late by length of sleep",
        &["condition", "asked for", "min", "median", "p99"],
        2,
        rows.collect(),
    )
}
