//! Painting: values in, terminal cells out. One file per kind of panel.

mod bottom;
mod header;
mod heat_map;
mod help;
mod histogram;
mod history;
mod layout;
mod line;
mod table;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::choices::Choices;
use crate::screenful::{Panel, Screenful};
use crate::symbols;
use crate::terminal::{MIN_COLUMNS, MIN_ROWS};
use crate::theme::LiveTheme;

/// Paints a whole screen, and records the areas of the panels in `choices`.
pub(crate) fn paint(screen: &Screenful, choices: &mut Choices, theme: LiveTheme, cells: &mut Buffer) {
    paint_screen(screen, choices, theme, cells);
    if theme.is_ascii() {
        symbols::replace_unicode(cells);
    }
}

fn paint_screen(screen: &Screenful, choices: &mut Choices, theme: LiveTheme, cells: &mut Buffer) {
    let area = cells.area;
    choices.areas.clear();
    if area.width < MIN_COLUMNS || area.height < MIN_ROWS {
        let needed = format!("{}×{}: too small, {MIN_COLUMNS}×{MIN_ROWS} is enough", area.width, area.height);
        line::paint(&needed, theme.warn(), area, cells);
        return;
    }
    let layout = layout::arrange(screen, choices, area);
    header::paint(screen, theme, layout.header, cells);
    bottom::paint(screen, choices, theme, layout.bottom, cells);
    if choices.help {
        return help::paint(screen, choices, theme, layout.body, cells);
    }
    for (panel, area) in layout.panels {
        choices.areas.push((panel, area));
        paint_panel(panel, screen, choices, theme, area, cells);
    }
}

fn paint_panel(
    panel: Panel,
    screen: &Screenful,
    choices: &mut Choices,
    theme: LiveTheme,
    area: Rect,
    cells: &mut Buffer,
) {
    let heading = if choices.focus == panel { theme.heading_in_focus() } else { theme.heading() };
    let titled = |text: &str| match screen.detail_of.as_str() {
        "" => text.to_owned(),
        name => format!("{text} · {name}"),
    };
    match (panel, &screen.history, &screen.histogram) {
        (Panel::History, Some(history), _) => {
            let values = if screen.history_title.is_empty() { "p99, max" } else { screen.history_title };
            let title = titled(values);
            history::paint(history, choices.narrowed, (&title, heading), theme, area, cells);
        }
        (Panel::HeatMap, Some(history), _) => {
            heat_map::paint(history, choices.narrowed, (&titled("over time"), heading), theme, area, cells);
        }
        (Panel::Histogram, _, Some(histogram)) => {
            histogram::paint(histogram, (&titled("how many"), heading), theme, area, cells);
        }
        _ => {
            let late = selected_late(screen, choices);
            if let Some(table) = screen.panel_table(panel, late) {
                table::paint(panel, table, choices, heading, theme, area, cells);
            }
        }
    }
}

/// Key of the selected late wake-up; of the first where none is selected or it has disappeared.
fn selected_late(screen: &Screenful, choices: &Choices) -> Option<u64> {
    let late = screen.late.as_ref()?;
    let selected = choices.selected(Panel::Late).filter(|key| late.rows.iter().any(|row| row.key == *key));
    selected.or_else(|| late.rows.first().map(|row| row.key))
}
