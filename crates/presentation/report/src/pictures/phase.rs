//! Late wake-ups that come back, by where in their period they were: a column where they have one phase.

use howlate_analyse::periodicity::Recurrence;
use howlate_render::recurrence_in_words;
use howlate_render::scale::Scale;

use super::{Chart, Panel, Picture, data, words};
use crate::chart::{Axis, Drawing, Form, Hue, Mark, Marks, Named, Plot};
use crate::entry::Entry;
use crate::table::Table;

/// The most certain rhythm of the first recording; nothing to draw where nothing comes back.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let found = entries.first()?.recording.analysis.recurrences().first()?;
    let said = recurrence_in_words(found, entries.first()?.recording.analysis);
    let title = said.split(" (p").next().unwrap_or_default().to_owned();
    Some(Picture {
        kind: Chart::Phase,
        title,
        about: "Each dot is one of the slowest wake-ups: from left to right where in the period it ran, from below to above in which of \
                them. What comes back stands in a column; what does not lies anywhere."
            .to_owned(),
        left_out: None,
        panels: vec![panel(found)],
        numbers: Some(numbers(found)),
    })
}

/// Where in the period, from half before it is due to half after, and in which period; in nanoseconds and seconds.
fn place(found: &Recurrence, turns: f64) -> (f64, f64) {
    let period = found.rhythm.period.as_nanos() as f64;
    (((turns + 0.5).rem_euclid(1.0)) * period, (turns + 0.5).floor() * period / 1e9)
}

fn panel(found: &Recurrence) -> Panel {
    let dots = |of_rhythm: bool| {
        let chosen = found.seen.iter().filter(move |(_, is_of_it)| *is_of_it == of_rhythm);
        chosen.map(|(turns, _)| place(found, *turns)).collect::<Vec<_>>()
    };
    let groups = [(Hue::Rest, dots(false), "the others"), (Hue::nth(0), dots(true), "in the rhythm")];
    let period = found.rhythm.period.as_nanos() as f64;
    let last = found.seen.iter().map(|(turns, _)| place(found, *turns).1).fold(1e-9, f64::max);
    let shown = groups.iter().filter(|(_, points, _)| !points.is_empty());
    Panel {
        heading: String::new(),
        drawing: Drawing::Plot(Plot {
            horizontal: Axis::new(Scale::exactly(0.0, period), "in the period", words::time),
            vertical: Axis::new(Scale::exactly(0.0, last), "since the first", words::seconds),
            marks: groups
                .iter()
                .map(|(hue, points, _)| Mark::Dots { hue: *hue, points: points.clone(), radius: 2.5 })
                .collect(),
            form: Form::Alone,
            ends: Vec::new(),
        }),
        legend: shown
            .map(|(hue, _, text)| Named { hue: *hue, text: (*text).to_owned(), marks: Marks::Dots })
            .collect(),
        data: table_of(found),
    }
}

fn table_of(found: &Recurrence) -> String {
    let headings = ["in_period_ns", "since_first_s", "in_rhythm"].map(str::to_owned);
    let row = |(turns, is_of_it): &(f64, bool)| {
        let (phase, since) = place(found, *turns);
        vec![format!("{phase:.0}"), since.to_string(), is_of_it.to_string()]
    };
    data::csv(&headings, found.seen.iter().map(row))
}

fn numbers(found: &Recurrence) -> Table {
    let row = vec![
        found.rhythm.period.to_string(),
        found.rhythm.members.to_string(),
        found.rhythm.of.to_string(),
        format!("{:.1e}", found.rhythm.p),
    ];
    Table::plain(
        "Late wake-ups that come back",
        &["every", "in the rhythm", "of the slowest", "p"],
        1,
        vec![row],
    )
}
