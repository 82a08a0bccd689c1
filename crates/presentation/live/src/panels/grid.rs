//! A table: columns that keep their place from one moment to the next, and rows that scroll.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::line::{self, row};
use crate::choices::{Choices, HEADING_ROWS};
use crate::screenful::{Cell, Column, Grid, Panel, Row};
use crate::theme::Theme;

/// Columns between two columns.
const BETWEEN: u16 = 2;
/// Columns on the left for what is selected and what runs.
const MARGIN: u16 = 2;

pub(super) fn paint(
    panel: Panel,
    grid: &Grid,
    choices: &mut Choices,
    heading: Style,
    theme: Theme,
    area: Rect,
    cells: &mut Buffer,
) {
    let rows = choices.rows(panel, grid);
    let room = usize::from(area.height).saturating_sub(HEADING_ROWS);
    let selected = choices.number_of_selected(panel, &rows);
    let above = choices.scroll(panel, selected, rows.len(), room);
    let title = title(grid, rows.len(), above, room);
    line::paint(&title, heading, row(area, 0), cells);
    let places = places(&grid.columns, area.width.saturating_sub(MARGIN));
    headings(grid, &places, choices, panel, theme, row(area, 1), cells);
    if rows.is_empty() {
        line::paint(&nothing(grid, choices, panel), theme.dim(), inset(row(area, 2)), cells);
    }
    for (number, one) in rows.iter().enumerate().skip(above).take(room) {
        let at = row(area, u16::try_from(number - above + HEADING_ROWS).unwrap_or(u16::MAX));
        let is_selected = number == selected && choices.focus == panel;
        paint_row(one, &grid.columns, &places, (is_selected, number == selected), theme, at, cells);
    }
}

/// The title, with which rows are in sight where not all are.
fn title(grid: &Grid, all: usize, above: usize, room: usize) -> String {
    match all > room {
        true => format!("{} · {} to {} of {all}", grid.title, above + 1, (above + room).min(all)),
        false => grid.title.clone(),
    }
}

fn nothing(grid: &Grid, choices: &Choices, panel: Panel) -> String {
    if panel == Panel::Table && !choices.filter.is_empty() {
        return format!("no rows match `{}`", howlate_render::legible(&choices.filter));
    }
    grid.nothing.clone()
}

fn inset(area: Rect) -> Rect {
    Rect { x: area.x + MARGIN, width: area.width.saturating_sub(MARGIN), ..area }
}

/// Where each column begins and how wide it is; 0 wide where there is no room for it.
fn places(columns: &[Column], width: u16) -> Vec<(u16, u16)> {
    let needed = |without: u8| -> u16 {
        let kept = columns.iter().filter(|column| column.goes < without);
        kept.map(|column| column.width + BETWEEN).sum::<u16>().saturating_sub(BETWEEN)
    };
    // Those that go first have the highest number.
    let without = (1..=10).rev().find(|without| needed(*without) <= width).unwrap_or(1);
    let grown = grown(columns, without, width.saturating_sub(needed(without)));
    let mut at = 0;
    let place = |(column, more): (&Column, u16)| {
        if column.goes >= without {
            return (at, 0);
        }
        let wide = column.width + more;
        let place = (at, wide.min(width.saturating_sub(at)));
        at += wide + BETWEEN;
        place
    };
    columns.iter().zip(grown).map(place).collect()
}

/// What each column takes of what is spare: those that want least first, so that the others have what those leave.
fn grown(columns: &[Column], without: u8, spare: u16) -> Vec<u16> {
    let wanted = |column: &Column| column.most.saturating_sub(column.width);
    let mut growing: Vec<usize> = (0..columns.len())
        .filter(|place| columns[*place].goes < without && wanted(&columns[*place]) > 0)
        .collect();
    growing.sort_by_key(|place| wanted(&columns[*place]));
    let (mut grown, mut spare) = (vec![0; columns.len()], spare);
    for (number, place) in growing.iter().enumerate() {
        let share = spare / u16::try_from(growing.len() - number).unwrap_or(1);
        grown[*place] = share.min(wanted(&columns[*place]));
        spare -= grown[*place];
    }
    grown
}

fn headings(
    grid: &Grid,
    places: &[(u16, u16)],
    choices: &Choices,
    panel: Panel,
    theme: Theme,
    area: Rect,
    cells: &mut Buffer,
) {
    for (number, (column, place)) in grid.columns.iter().zip(places).enumerate() {
        let is_sorted = panel == Panel::Table && choices.sort == Some(number);
        // Numbers largest first, texts from A on, or the other way round.
        let descends = column.is_number != choices.is_reversed;
        let order = theme.symbols.orders[usize::from(descends)];
        let text = if is_sorted { format!("{order}{}", column.heading) } else { column.heading.clone() };
        let style = if is_sorted { theme.bold() } else { theme.dim() };
        let cell = Cell::text(text);
        paint_cell(&cell, column, *place, style, area, cells);
    }
}

fn paint_row(
    one: &Row,
    columns: &[Column],
    places: &[(u16, u16)],
    (is_selected, is_chosen): (bool, bool),
    theme: Theme,
    area: Rect,
    cells: &mut Buffer,
) {
    for ((cell, column), place) in one.cells.iter().zip(columns).zip(places) {
        let style = if cell.is_worst { theme.bold() } else { theme.tone(one.tone) };
        paint_cell(cell, column, *place, style, area, cells);
    }
    if one.is_running {
        line::paint(theme.symbols.running, theme.picture(), Rect { x: area.x + 1, width: 1, ..area }, cells);
    }
    if is_chosen {
        line::paint(theme.symbols.selected, theme.picture(), Rect { width: 1, ..area }, cells);
    }
    if is_selected {
        // In the tone of the whole row, also where it is empty.
        let style = theme.tone(one.tone).patch(theme.selected());
        cells.set_style(inset(area).intersection(cells.area), style);
    }
}

fn paint_cell(
    cell: &Cell,
    column: &Column,
    (at, width): (u16, u16),
    style: Style,
    area: Rect,
    cells: &mut Buffer,
) {
    let area = inset(area);
    let place = Rect { x: area.x + at, width, ..area };
    if width == 0 || area.height == 0 {
        return;
    }
    let text = cell.short.as_ref().filter(|_| !line::fits(&cell.text, width)).unwrap_or(&cell.text);
    match column.is_number {
        true => line::paint_right(text, style, place, cells),
        false => line::paint(text, style, place, cells),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_grows_to_its_longest_text_and_leaves_the_rest_to_others() {
        let columns =
            [Column::growing_to(20, "name", 10), Column::number("max", 6, 0), Column::growing("causes", 10)];
        // 30 letters, two gaps, and 40 to spare.
        assert_eq!(places(&columns, 70), [(0, 20), (22, 6), (30, 40)]);
        assert_eq!(places(&columns[..2], 70), [(0, 20), (22, 6)], "numbers stay beside the name");
        assert_eq!(places(&columns, 36), [(0, 13), (15, 6), (23, 13)]);
    }
}
