//! Durations of single sleeps, in order and sorted, with the length asked for.

use howlate_model::Latency;
use howlate_render::scale::Scale;

use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Along, Axis, Drawing, Hue, LegendEntry, LegendSymbol, Mark, Plot, PlotForm};
use crate::condition_names::{name, varying};
use crate::entry::Entry;
use crate::table::ReportTable;

const MAX_PANELS: usize = 12;
/// Points of each order; more cannot be distinguished.
const POINTS: usize = 400;
/// Maximum sleeps in the CSV.
const NUMBERS: usize = 2_000;

/// `None` where single sleeps were not recorded.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let has_series =
        |entry: &&Entry<'_>| entry.is_sleep() && entry.outcome.series().iter().any(|round| !round.is_empty());
    let all: Vec<Entry<'_>> = entries.iter().copied().filter(|entry| has_series(&entry)).collect();
    let mut selected = all.clone();
    selected.truncate(MAX_PANELS);
    let parts = varying(entries);
    let panels: Vec<ChartPanel> = selected.iter().map(|entry| panel(entry, name(entry, &parts))).collect();
    let first = selected.first()?;
    Some(Picture {
        kind: Chart::Sleeps,
        title: title(&selected).unwrap_or_else(|| name(first, &parts)),
        about: "How long each sleep took. Dots: in order. Line: the same, sorted. The straight \
                line is the length asked for. Sleeps beyond the upper edge are counted in the corner."
            .to_owned(),
        left_out: (all.len() > selected.len()).then(|| {
            format!(
                "{} more conditions are not drawn; `howlate show --format intervals` prints every sleep.",
                all.len() - selected.len()
            )
        }),
        panels,
        numbers: Some(numbers(&selected)),
    })
}

/// Title about the length nearest to a millisecond.
fn title(entries: &[Entry<'_>]) -> Option<String> {
    let distance = |entry: &&Entry<'_>| entry.work().length().as_nanos().abs_diff(1_000_000);
    let entry = entries.iter().min_by_key(distance)?;
    let length = i64::try_from(entry.work().length().as_nanos()).ok()?;
    let p50 = entry.outcome.summary()?.p50;
    let policy = entry.outcome.condition.policy;
    let length_asked_for = time_label(length);
    Some(format!(
        "A sleep of {length_asked_for} takes {} at the median ({policy})",
        Latency::from_nanos(length + p50)
    ))
}

fn time_label(nanos: i64) -> String {
    formats::time(nanos as f64)
}

fn panel(entry: &Entry<'_>, name: String) -> ChartPanel {
    let in_order: Vec<i64> = entry.outcome.sleep_lengths().collect();
    let mut sorted = in_order.clone();
    sorted.sort_unstable();
    let asked_for = entry.work().length().as_nanos() as f64;
    let (edge, beyond) = edge(&sorted, asked_for);
    let clamped = |nanos: i64| (nanos as f64).min(edge);
    let mut marks = vec![Mark::Rule { along: Along::Horizontal, at: asked_for, text: String::new() }];
    let points = |of: &[i64]| thinned(of).into_iter().map(|(x, nanos)| (x, clamped(nanos))).collect();
    marks.push(Mark::Dots { hue: Hue::nth(0), points: points(&in_order), radius: 1.3 });
    marks.push(Mark::Line { hue: Hue::nth(1), points: points(&sorted) });
    if beyond > 0 {
        let max = Latency::from_nanos(sorted.last().copied().unwrap_or(0));
        marks.push(Mark::Note { text: format!("{beyond} beyond, up to {max}") });
    }
    let least = sorted.first().map_or(asked_for, |least| asked_for.min(*least as f64));
    let plot = Plot {
        horizontal: Axis::new(
            Scale::exactly(0.0, sorted.len().max(2) as f64 - 1.0),
            "number",
            formats::number,
        ),
        vertical: Axis::new(Scale::linear(least, edge), "took", formats::latency),
        marks,
        form: PlotForm::Alone,
        ends: Vec::new(),
    };
    let legend = [(0, "in order", LegendSymbol::Dots), (1, "sorted", LegendSymbol::Line)];
    ChartPanel {
        heading: name,
        drawing: Drawing::Plot(plot),
        legend: legend
            .map(|(hue, text, symbol)| LegendEntry { hue: Hue::nth(hue), text: text.to_owned(), symbol })
            .into(),
        data: table_of(&in_order, &sorted),
    }
}

/// Upper end of the axis without outliers, which would flatten the rest, and the number of sleeps beyond.
fn edge(sorted: &[i64], asked_for: f64) -> (f64, usize) {
    let at = |share: f64| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place within")]
        let place = (share * sorted.len().saturating_sub(1) as f64) as usize;
        sorted.get(place).map_or(asked_for, |nanos| *nanos as f64)
    };
    let low = asked_for.min(at(0.0));
    let edge = at(0.98) + (at(0.98) - low) * 0.5 + 1_000.0;
    let edge = Scale::linear(low, edge).to();
    (edge, sorted.iter().filter(|nanos| **nanos as f64 > edge).count())
}

/// At most [`POINTS`] points: minimum and maximum of each stretch, with their positions.
fn thinned(values: &[i64]) -> Vec<(f64, i64)> {
    let stretch = (2 * values.len()).div_ceil(POINTS).max(1);
    if stretch <= 2 {
        return values.iter().enumerate().map(|(place, value)| (place as f64, *value)).collect();
    }
    let extremes = |(number, values): (usize, &[i64])| {
        let place = |value: Option<i64>| {
            let value = value?;
            let within = values.iter().position(|sleep| *sleep == value)?;
            Some((number * stretch + within, value))
        };
        let mut both: Vec<(usize, i64)> = [values.iter().min().copied(), values.iter().max().copied()]
            .into_iter()
            .filter_map(place)
            .collect();
        both.sort_unstable();
        both
    };
    let all = values.chunks(stretch).enumerate().flat_map(extremes);
    all.map(|(place, value)| (place as f64, value)).collect()
}

/// All sleeps; empty if there are too many for a page.
fn table_of(in_order: &[i64], sorted: &[i64]) -> String {
    if in_order.len() > NUMBERS {
        return String::new();
    }
    let headings = ["number", "in order ns", "sorted ns"].map(str::to_owned);
    let row = |(number, (in_order, sorted)): (usize, (&i64, &i64))| {
        vec![number.to_string(), in_order.to_string(), sorted.to_string()]
    };
    formats::csv(&headings, in_order.iter().zip(sorted).enumerate().map(row))
}

fn numbers(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let row = |entry: &Entry<'_>| {
        let length = i64::try_from(entry.work().length().as_nanos()).ok()?;
        let summary = entry.outcome.summary()?;
        let took = [summary.min, summary.p50, summary.p99, summary.max]
            .map(|late| Latency::from_nanos(length + late));
        let mut row = vec![name(entry, &parts), time_label(length)];
        row.extend(took.map(|took| took.to_string()));
        Some(row)
    };
    ReportTable::plain(
        "How long sleeps took",
        &["condition", "asked for", "min", "median", "p99", "max"],
        1,
        entries.iter().filter_map(row).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_extremes_and_order() {
        let mut values: Vec<i64> = (0..100_000).map(|number| 1_000 + number % 7).collect();
        values[77_777] = 9_999;
        values[123] = 1;
        let points = thinned(&values);
        assert!(points.len() <= 2 * POINTS);
        assert!(points.contains(&(77_777.0, 9_999)) && points.contains(&(123.0, 1)));
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn what_lies_beyond_the_edge_is_counted() {
        let mut values = vec![1_100_000; 990];
        values.extend([50_000_000; 10]);
        let (edge, beyond) = edge(&values, 1_000_000.0);
        assert!(edge < 2_000_000.0, "{edge}");
        assert_eq!(beyond, 10);
    }
}
