//! Recurring late wake-ups by position in their period: a column where they share a phase.

use howlate_analyse::periodicity::Recurrence;
use howlate_render::recurrence_in_words;
use howlate_render::scale::Scale;

use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Axis, Drawing, Hue, LegendEntry, LegendSymbol, Mark, Plot, PlotForm};
use crate::entry::Entry;
use crate::table::ReportTable;

/// The most significant rhythm of the first recording; `None` without a rhythm.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let recurrence = entries.first()?.recording.analysis.recurrences().first()?;
    let sentence = recurrence_in_words(recurrence, entries.first()?.recording.analysis);
    let title = sentence.split(" (p").next().unwrap_or_default().to_owned();
    Some(Picture {
        kind: Chart::Phase,
        title,
        about: "Each dot is one of the slowest wake-ups: from left to right where in the period it ran, from below to above in which of \
                them. What comes back stands in a column; what does not lies anywhere."
            .to_owned(),
        left_out: None,
        panels: vec![panel(recurrence)],
        numbers: Some(numbers(recurrence)),
    })
}

/// Position in the period in nanoseconds, from half a period before it is due, and start of the period in seconds.
fn place(recurrence: &Recurrence, turns: f64) -> (f64, f64) {
    let period = recurrence.rhythm.period.as_nanos() as f64;
    (((turns + 0.5).rem_euclid(1.0)) * period, (turns + 0.5).floor() * period / 1e9)
}

fn panel(recurrence: &Recurrence) -> ChartPanel {
    let dots = |in_rhythm: bool| {
        let dots_of_group = recurrence.seen.iter().filter(move |(_, is_member)| *is_member == in_rhythm);
        dots_of_group.map(|(turns, _)| place(recurrence, *turns)).collect::<Vec<_>>()
    };
    let groups = [(Hue::Rest, dots(false), "the others"), (Hue::nth(0), dots(true), "in the rhythm")];
    let period = recurrence.rhythm.period.as_nanos() as f64;
    let last = recurrence.seen.iter().map(|(turns, _)| place(recurrence, *turns).1).fold(1e-9, f64::max);
    let shown = groups.iter().filter(|(_, points, _)| !points.is_empty());
    ChartPanel {
        heading: String::new(),
        drawing: Drawing::Plot(Plot {
            horizontal: Axis::new(Scale::exactly(0.0, period), "in the period", formats::time),
            vertical: Axis::new(Scale::exactly(0.0, last), "since the first", formats::seconds),
            marks: groups
                .iter()
                .map(|(hue, points, _)| Mark::Dots { hue: *hue, points: points.clone(), radius: 2.5 })
                .collect(),
            form: PlotForm::Alone,
            ends: Vec::new(),
        }),
        legend: shown
            .map(|(hue, _, text)| LegendEntry {
                hue: *hue,
                text: (*text).to_owned(),
                symbol: LegendSymbol::Dots,
            })
            .collect(),
        data: table_of(recurrence),
    }
}

fn table_of(recurrence: &Recurrence) -> String {
    let headings = ["in_period_ns", "since_first_s", "in_rhythm"].map(str::to_owned);
    let row = |(turns, is_member): &(f64, bool)| {
        let (phase, since) = place(recurrence, *turns);
        vec![format!("{phase:.0}"), since.to_string(), is_member.to_string()]
    };
    formats::csv(&headings, recurrence.seen.iter().map(row))
}

fn numbers(recurrence: &Recurrence) -> ReportTable {
    let row = vec![
        recurrence.rhythm.period.to_string(),
        recurrence.rhythm.members.to_string(),
        recurrence.rhythm.of.to_string(),
        format!("{:.1e}", recurrence.rhythm.p),
    ];
    ReportTable::plain(
        "Late wake-ups that come back",
        &["every", "in the rhythm", "of the slowest", "p"],
        1,
        vec![row],
    )
}
