//! What is painted: one file for each kind of panel. Pure: values in, cells out.

mod ascii;
mod bottom;
mod grid;
mod header;
mod heat_map;
mod help;
mod histogram;
mod history;
mod layout;
mod line;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::choices::Choices;
use crate::screenful::{Panel, Screenful};
use crate::terminal::{LEAST_COLUMNS, LEAST_ROWS};
use crate::theme::Theme;

/// Paints a whole screen, and notes in `choices` where its panels are.
pub(crate) fn paint(shown: &Screenful, choices: &mut Choices, theme: Theme, cells: &mut Buffer) {
    paint_screen(shown, choices, theme, cells);
    if theme.is_ascii() {
        ascii::replace(cells);
    }
}

fn paint_screen(shown: &Screenful, choices: &mut Choices, theme: Theme, cells: &mut Buffer) {
    let all = cells.area;
    choices.areas.clear();
    if all.width < LEAST_COLUMNS || all.height < LEAST_ROWS {
        let needed =
            format!("{}×{}: too small, {LEAST_COLUMNS}×{LEAST_ROWS} is enough", all.width, all.height);
        line::paint(&needed, theme.warn(), all, cells);
        return;
    }
    let screen = layout::screen(shown, choices, all);
    header::paint(shown, theme, screen.header, cells);
    bottom::paint(shown, choices, theme, screen.bottom, cells);
    if choices.help {
        return help::paint(shown, choices, theme, screen.body, cells);
    }
    for (panel, area) in screen.panels {
        choices.areas.push((panel, area));
        one(panel, shown, choices, theme, area, cells);
    }
}

fn one(panel: Panel, shown: &Screenful, choices: &mut Choices, theme: Theme, area: Rect, cells: &mut Buffer) {
    let heading = if choices.focus == panel { theme.heading_in_focus() } else { theme.heading() };
    let of = |what: &str| match shown.detail_of.as_str() {
        "" => what.to_owned(),
        name => format!("{what} · {name}"),
    };
    match (panel, &shown.history, &shown.histogram) {
        (Panel::History, Some(history), _) => {
            let values = if shown.history_title.is_empty() { "p99, max" } else { shown.history_title };
            let title = of(values);
            history::paint(history, choices.narrowed, (&title, heading), theme, area, cells);
        }
        (Panel::HeatMap, Some(history), _) => {
            heat_map::paint(history, choices.narrowed, (&of("over time"), heading), theme, area, cells);
        }
        (Panel::Histogram, _, Some(histogram)) => {
            histogram::paint(histogram, (&of("how many"), heading), theme, area, cells);
        }
        _ => {
            let late = selected_late(shown, choices);
            if let Some(table) = shown.grid(panel, late) {
                grid::paint(panel, table, choices, heading, theme, area, cells);
            }
        }
    }
}

/// The late wake-up that is selected; the first where none was chosen, or it is gone.
fn selected_late(shown: &Screenful, choices: &Choices) -> Option<u64> {
    let late = shown.late.as_ref()?;
    let chosen = choices.selected(Panel::Late).filter(|key| late.rows.iter().any(|row| row.key == *key));
    chosen.or_else(|| late.rows.first().map(|row| row.key))
}
