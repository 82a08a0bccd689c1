//! A table with fixed columns and rows that scroll.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::line::{self, row};
use crate::choices::{Choices, HEADING_ROWS};
use crate::screenful::{LiveCell, LiveColumn, LiveTable, LiveTableRow, Panel};
use crate::theme::LiveTheme;

const BETWEEN: u16 = 2;
/// Columns on the left for the marks of the selected and the running row.
const MARGIN: u16 = 2;

pub(super) fn paint(
    panel: Panel,
    table: &LiveTable,
    choices: &mut Choices,
    heading: Style,
    theme: LiveTheme,
    area: Rect,
    cells: &mut Buffer,
) {
    let rows = choices.rows(panel, table);
    let room = usize::from(area.height).saturating_sub(HEADING_ROWS);
    let selected = choices.selected_index(panel, &rows);
    let above = choices.scroll(panel, selected, rows.len(), room);
    let title = title(table, rows.len(), above, room);
    line::paint(&title, heading, row(area, 0), cells);
    let places = places(&table.columns, area.width.saturating_sub(MARGIN));
    headings(table, &places, choices, panel, theme, row(area, 1), cells);
    if rows.is_empty() {
        line::paint(&empty_text(table, choices, panel), theme.dim(), inset(row(area, 2)), cells);
    }
    for (index, table_row) in rows.iter().enumerate().skip(above).take(room) {
        let line_area = row(area, u16::try_from(index - above + HEADING_ROWS).unwrap_or(u16::MAX));
        let is_selected = index == selected && choices.focus == panel;
        paint_row(
            table_row,
            &table.columns,
            &places,
            (is_selected, index == selected),
            theme,
            line_area,
            cells,
        );
    }
}

/// The title; with the range of visible rows where they do not all fit.
fn title(table: &LiveTable, count: usize, above: usize, room: usize) -> String {
    match count > room {
        true => format!("{} · {} to {} of {count}", table.title, above + 1, (above + room).min(count)),
        false => table.title.clone(),
    }
}

fn empty_text(table: &LiveTable, choices: &Choices, panel: Panel) -> String {
    if panel == Panel::Table && !choices.filter.is_empty() {
        return format!("no rows match `{}`", howlate_render::legible(&choices.filter));
    }
    table.empty_text.clone()
}

fn inset(area: Rect) -> Rect {
    Rect { x: area.x + MARGIN, width: area.width.saturating_sub(MARGIN), ..area }
}

/// Start and width of each column; width 0 where there is no room for it.
fn places(columns: &[LiveColumn], width: u16) -> Vec<(u16, u16)> {
    let needed_width = |drop_from: u8| -> u16 {
        let shown = columns.iter().filter(|column| column.drop_order < drop_from);
        shown.map(|column| column.width + BETWEEN).sum::<u16>().saturating_sub(BETWEEN)
    };
    // The columns with the highest `drop_order` are left out until the others fit.
    let drop_from = (1..=10).rev().find(|drop_from| needed_width(*drop_from) <= width).unwrap_or(1);
    let growth = distribute_spare(columns, drop_from, width.saturating_sub(needed_width(drop_from)));
    let mut start = 0;
    let place = |(column, growth): (&LiveColumn, u16)| {
        if column.drop_order >= drop_from {
            return (start, 0);
        }
        let column_width = column.width + growth;
        let place = (start, column_width.min(width.saturating_sub(start)));
        start += column_width + BETWEEN;
        place
    };
    columns.iter().zip(growth).map(place).collect()
}

/// Additional width of each column. Columns that need least are served first, so that the others share what remains.
fn distribute_spare(columns: &[LiveColumn], drop_from: u8, spare: u16) -> Vec<u16> {
    let needed = |column: &LiveColumn| column.max_width.saturating_sub(column.width);
    let mut growing: Vec<usize> = (0..columns.len())
        .filter(|place| columns[*place].drop_order < drop_from && needed(&columns[*place]) > 0)
        .collect();
    growing.sort_by_key(|place| needed(&columns[*place]));
    let (mut growth, mut spare) = (vec![0; columns.len()], spare);
    for (number, place) in growing.iter().enumerate() {
        let share = spare / u16::try_from(growing.len() - number).unwrap_or(1);
        growth[*place] = share.min(needed(&columns[*place]));
        spare -= growth[*place];
    }
    growth
}

fn headings(
    table: &LiveTable,
    places: &[(u16, u16)],
    choices: &Choices,
    panel: Panel,
    theme: LiveTheme,
    area: Rect,
    cells: &mut Buffer,
) {
    for (number, (column, place)) in table.columns.iter().zip(places).enumerate() {
        let is_sorted = panel == Panel::Table && choices.sort == Some(number);
        // Numbers are sorted in descending order by default, texts in ascending order.
        let descends = column.is_number != choices.is_reversed;
        let order = theme.symbols.orders[usize::from(descends)];
        let text = if is_sorted { format!("{order}{}", column.heading) } else { column.heading.clone() };
        let style = if is_sorted { theme.bold() } else { theme.dim() };
        let cell = LiveCell::text(text);
        paint_cell(&cell, column, *place, style, area, cells);
    }
}

fn paint_row(
    table_row: &LiveTableRow,
    columns: &[LiveColumn],
    places: &[(u16, u16)],
    (is_selected, is_chosen): (bool, bool),
    theme: LiveTheme,
    area: Rect,
    cells: &mut Buffer,
) {
    for ((cell, column), place) in table_row.cells.iter().zip(columns).zip(places) {
        let style = if cell.is_worst { theme.bold() } else { theme.tone(table_row.tone) };
        paint_cell(cell, column, *place, style, area, cells);
    }
    if table_row.is_running {
        line::paint(theme.symbols.running, theme.picture(), Rect { x: area.x + 1, width: 1, ..area }, cells);
    }
    if is_chosen {
        line::paint(theme.symbols.selected, theme.picture(), Rect { width: 1, ..area }, cells);
    }
    if is_selected {
        // The row's style over its whole width, also where it is empty.
        let style = theme.tone(table_row.tone).patch(theme.selected());
        cells.set_style(inset(area).intersection(cells.area), style);
    }
}

fn paint_cell(
    cell: &LiveCell,
    column: &LiveColumn,
    (start, width): (u16, u16),
    style: Style,
    area: Rect,
    cells: &mut Buffer,
) {
    let area = inset(area);
    let place = Rect { x: area.x + start, width, ..area };
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
        let columns = [
            LiveColumn::growing_to(20, "name", 10),
            LiveColumn::number("max", 6, 0),
            LiveColumn::growing("causes", 10),
        ];
        // 30 letters, two gaps, and 40 to spare.
        assert_eq!(places(&columns, 70), [(0, 20), (22, 6), (30, 40)]);
        assert_eq!(places(&columns[..2], 70), [(0, 20), (22, 6)], "numbers stay beside the name");
        assert_eq!(places(&columns, 36), [(0, 13), (15, 6), (23, 13)]);
    }
}
