//! Fields in columns and rows: the stronger the shade, the larger the value.

use howlate_render::scale::Scale;
use maud::{Markup, html};

use super::Room;
use super::labelled_rows::cut;
use super::path::rounded;
use super::thin_rows::{Strip, strips, strips_height};

/// Fields in columns and rows, and below them strips, where there are too many rows to name each.
#[derive(Default)]
pub(crate) struct Matrix {
    /// What the columns are, such as `to CPU`.
    pub(crate) across: String,
    /// What the rows are.
    pub(crate) down: String,
    /// What stands above all, a line each: what the headings of columns are short for.
    pub(crate) key: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Fields>,
    pub(crate) strips: Vec<Strip>,
    /// What the shades mean, from the lightest on; below all.
    pub(crate) shades: Vec<&'static str>,
    /// Whether rows are as low as a line of text.
    pub(crate) is_dense: bool,
}

/// A row of fields under one name.
pub(crate) struct Fields {
    pub(crate) name: String,
    /// Nothing where no value is known.
    pub(crate) fields: Vec<Option<Field>>,
}

/// A field of a row.
pub(crate) struct Field {
    /// The class of its shade.
    pub(crate) shade: &'static str,
    /// Its value in words.
    pub(crate) label: String,
    /// All there is to say of it, where that is more than its label.
    pub(crate) words: String,
    /// Whether it has a frame.
    pub(crate) is_marked: bool,
}

const LEFT: f64 = 70.0;
const TOP: f64 = 44.0;
/// Heights of rows, of a line above the headings, and of what says which shade is what.
const ROW: f64 = 34.0;
const DENSE_ROW: f64 = 24.0;
const KEY: f64 = 17.0;
const SHADES: f64 = 40.0;
/// Width of a letter, about; fields that are narrower than `WORDS` have no words in them.
const LETTER: f64 = 6.6;
const WORDS: f64 = 40.0;

/// Where everything is.
#[derive(Clone, Copy)]
struct Places {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Places {
    fn at(&self, row: usize, column: usize) -> (f64, f64) {
        (self.left + self.width * column as f64, self.top + self.height * row as f64)
    }
}

impl Matrix {
    fn places(&self, room: Room) -> Places {
        let longest = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let left = (longest as f64 * LETTER + 14.0).clamp(LEFT, room.width() * 0.36);
        let width = (room.width() - left - 8.0) / self.columns.len().max(1) as f64;
        let height = if self.is_dense { DENSE_ROW } else { ROW };
        Places { left, top: TOP + KEY * self.key.len() as f64, width: width.min(120.0), height }
    }

    pub(crate) fn height(&self, room: Room) -> f64 {
        let below = if self.shades.is_empty() { 0.0 } else { SHADES };
        self.places(room).at(self.rows.len(), 0).1 + strips_height(&self.strips) + below + 8.0
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let places = self.places(room);
        let (left, top) = places.at(self.rows.len(), 0);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(self.height(room)))) {
                (self.headings(room, &places))
                @for (row, fields) in self.rows.iter().enumerate() { (draw_row(&places, row, fields)) }
                (strips(&self.strips, (left, top), (places.width, self.columns.len())))
                (self.legend(room, top + strips_height(&self.strips) + 16.0))
            }
        }
    }

    fn headings(&self, room: Room, places: &Places) -> Markup {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
        let letters = (room.width() / LETTER) as usize;
        let above = places.top - 8.0;
        html! {
            @for (number, line) in self.key.iter().enumerate() {
                text x="0" y=(rounded(14.0 + KEY * number as f64)) { (cut(line, letters)) }
            }
            text x=(rounded(places.left)) y=(rounded(above - 22.0)) { (self.across) " →" }
            text x="0" y=(rounded(above)) { (self.down) " ↓" }
            @for (column, text) in self.columns.iter().enumerate() {
                text x=(rounded(places.at(0, column).0 + places.width / 2.0)) y=(rounded(above)) text-anchor="middle" { (text) }
            }
        }
    }

    /// Which shade is what.
    fn legend(&self, room: Room, top: f64) -> Markup {
        let width = (room.width() - 8.0) / self.shades.len().max(1) as f64;
        html! {
            @for (number, (words, shade)) in self.shades.iter().zip(CLASSES).enumerate() {
                rect class={ "field edged " (shade) } x=(rounded(width * number as f64 + 1.0)) y=(rounded(top)) width="14" height="14" rx="3" {}
                text x=(rounded(width * number as f64 + 20.0)) y=(rounded(top + 11.0)) { (words) }
            }
        }
    }
}

fn draw_row(places: &Places, row: usize, fields: &Fields) -> Markup {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
    let letters = ((places.left - 10.0) / LETTER) as usize;
    let middle = places.at(row, 0).1 + places.height / 2.0 + 4.0;
    html! {
        text x=(rounded(places.left - 10.0)) y=(rounded(middle)) text-anchor="end" { (cut(&fields.name, letters)) }
        @for (column, field) in fields.fields.iter().enumerate() {
            @let words = field.as_ref().map_or("", |field| field.words.as_str());
            @if words.is_empty() { (draw(places, row, column, field.as_ref())) }
            @else { g data-tip=(words) { (draw(places, row, column, field.as_ref())) } }
        }
    }
}

fn draw(places: &Places, row: usize, column: usize, field: Option<&Field>) -> Markup {
    let (shade, label) = field.map_or(("none", "–"), |field| (field.shade, &field.label));
    let marked = field.is_some_and(|field| field.is_marked);
    let ((x, y), Places { width, height, .. }) = (places.at(row, column), *places);
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

/// The class of a shade from the lightest, 0, on; all above the last are like it.
pub(crate) fn shade(step: usize) -> &'static str {
    CLASSES[step.min(CLASSES.len() - 1)]
}

/// The class of the shade of a value on a scale.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place is 0 to 1")]
pub(crate) fn shade_on(scale: Scale, value: f64) -> &'static str {
    shade((scale.place(value) * 5.0) as usize)
}
