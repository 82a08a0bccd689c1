//! Heat map: cells in columns and rows; the darker the shade, the larger the value.

use howlate_render::scale::Scale;
use maud::{Markup, html};

use super::Room;
use super::labelled_rows::cut;
use super::path::rounded;
use super::thin_rows::{ThinRow, thin_rows, thin_rows_height};

/// Cells in columns and rows; rows too many to be named are thin rows below.
#[derive(Default)]
pub(crate) struct Matrix {
    /// Title of the columns, such as `to CPU`.
    pub(crate) across: String,
    /// Title of the rows.
    pub(crate) down: String,
    /// Lines above the matrix that explain abbreviated column headings.
    pub(crate) key: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<MatrixRow>,
    pub(crate) thin_rows: Vec<ThinRow>,
    /// Labels of the shades below the matrix, lightest first.
    pub(crate) shades: Vec<&'static str>,
    /// Whether rows are only as high as a line of text.
    pub(crate) is_dense: bool,
}

pub(crate) struct MatrixRow {
    pub(crate) name: String,
    /// `None` where no value is known.
    pub(crate) cells: Vec<Option<MatrixCell>>,
}

pub(crate) struct MatrixCell {
    /// CSS class of its shade.
    pub(crate) shade: &'static str,
    /// Its value, printed inside.
    pub(crate) label: String,
    /// Tooltip; empty where the label says all.
    pub(crate) tooltip: String,
    /// Whether it has a frame.
    pub(crate) is_marked: bool,
}

const LEFT: f64 = 70.0;
const TOP: f64 = 44.0;
/// Heights of rows, of a line of the key, and of the legend.
const ROW: f64 = 34.0;
const DENSE_ROW: f64 = 24.0;
const KEY: f64 = 17.0;
const SHADES: f64 = 40.0;
/// Approximate width of a letter; cells narrower than `WORDS` have no label.
const LETTER: f64 = 6.6;
const WORDS: f64 = 40.0;

/// Upper left corner of the cells, and the size of one.
#[derive(Clone, Copy)]
struct MatrixLayout {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl MatrixLayout {
    fn at(&self, row: usize, column: usize) -> (f64, f64) {
        (self.left + self.width * column as f64, self.top + self.height * row as f64)
    }
}

impl Matrix {
    fn layout(&self, room: Room) -> MatrixLayout {
        let longest = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let left = (longest as f64 * LETTER + 14.0).clamp(LEFT, room.width() * 0.36);
        let width = (room.width() - left - 8.0) / self.columns.len().max(1) as f64;
        let height = if self.is_dense { DENSE_ROW } else { ROW };
        MatrixLayout { left, top: TOP + KEY * self.key.len() as f64, width: width.min(120.0), height }
    }

    pub(crate) fn height(&self, room: Room) -> f64 {
        let below = if self.shades.is_empty() { 0.0 } else { SHADES };
        self.layout(room).at(self.rows.len(), 0).1 + thin_rows_height(&self.thin_rows) + below + 8.0
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let layout = self.layout(room);
        let (left, top) = layout.at(self.rows.len(), 0);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(self.height(room)))) {
                (self.headings(room, &layout))
                @for (row, fields) in self.rows.iter().enumerate() { (draw_row(&layout, row, fields)) }
                (thin_rows(&self.thin_rows, (left, top), (layout.width, self.columns.len())))
                (self.legend(room, top + thin_rows_height(&self.thin_rows) + 16.0))
            }
        }
    }

    fn headings(&self, room: Room, layout: &MatrixLayout) -> Markup {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
        let letters = (room.width() / LETTER) as usize;
        let above = layout.top - 8.0;
        html! {
            @for (number, line) in self.key.iter().enumerate() {
                text x="0" y=(rounded(14.0 + KEY * number as f64)) { (cut(line, letters)) }
            }
            text x=(rounded(layout.left)) y=(rounded(above - 22.0)) { (self.across) " →" }
            text x="0" y=(rounded(above)) { (self.down) " ↓" }
            @for (column, text) in self.columns.iter().enumerate() {
                text x=(rounded(layout.at(0, column).0 + layout.width / 2.0)) y=(rounded(above)) text-anchor="middle" { (text) }
            }
        }
    }

    fn legend(&self, room: Room, top: f64) -> Markup {
        let width = (room.width() - 8.0) / self.shades.len().max(1) as f64;
        html! {
            @for (number, (label, shade)) in self.shades.iter().zip(CLASSES).enumerate() {
                rect class={ "field edged " (shade) } x=(rounded(width * number as f64 + 1.0)) y=(rounded(top)) width="14" height="14" rx="3" {}
                text x=(rounded(width * number as f64 + 20.0)) y=(rounded(top + 11.0)) { (label) }
            }
        }
    }
}

fn draw_row(layout: &MatrixLayout, number: usize, row: &MatrixRow) -> Markup {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
    let letters = ((layout.left - 10.0) / LETTER) as usize;
    let middle = layout.at(number, 0).1 + layout.height / 2.0 + 4.0;
    html! {
        text x=(rounded(layout.left - 10.0)) y=(rounded(middle)) text-anchor="end" { (cut(&row.name, letters)) }
        @for (column, cell) in row.cells.iter().enumerate() {
            @let tooltip = cell.as_ref().map_or("", |cell| cell.tooltip.as_str());
            @if tooltip.is_empty() { (draw(layout, number, column, cell.as_ref())) }
            @else { g data-tip=(tooltip) { (draw(layout, number, column, cell.as_ref())) } }
        }
    }
}

fn draw(layout: &MatrixLayout, row: usize, column: usize, cell: Option<&MatrixCell>) -> Markup {
    let (shade, label) = cell.map_or(("none", "–"), |cell| (cell.shade, &cell.label));
    let marked = cell.is_some_and(|cell| cell.is_marked);
    let ((x, y), MatrixLayout { width, height, .. }) = (layout.at(row, column), *layout);
    html! {
        rect class={ "field " (shade) @if marked { " marked" } } x=(rounded(x + 1.0)) y=(rounded(y + 1.0))
            width=(rounded(width - 2.0)) height=(rounded(height - 2.0)) rx="3" {}
        @if width >= WORDS {
            text class={ "field-name " (shade) } x=(rounded(x + width / 2.0)) y=(rounded(y + height / 2.0 + 4.0))
                text-anchor="middle" { (label) }
        }
    }
}

const CLASSES: [&str; 5] = ["h0", "h1", "h2", "h3", "h4"];

/// CSS class of shade `step`, 0 being the lightest; larger steps share the darkest.
pub(crate) fn shade(step: usize) -> &'static str {
    CLASSES[step.min(CLASSES.len() - 1)]
}

/// CSS class of the shade of a value on a scale.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place is 0 to 1")]
pub(crate) fn shade_on(scale: Scale, value: f64) -> &'static str {
    shade((scale.place(value) * 5.0) as usize)
}
