//! A field for each pair: the darker, the larger its value.

use howlate_render::scale::Scale;
use maud::{Markup, html};

use super::Room;
use super::path::rounded;

/// Fields in columns and rows.
pub(crate) struct Matrix {
    /// What the columns are, such as `to CPU`.
    pub(crate) across: String,
    /// What the rows are.
    pub(crate) down: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
    /// By row and column; nothing where no value is known.
    pub(crate) fields: Vec<Vec<Option<f64>>>,
    /// A value in words.
    pub(crate) label: fn(f64) -> String,
    /// From the lightest to the darkest.
    pub(crate) scale: Scale,
}

const LEFT: f64 = 70.0;
const TOP: f64 = 44.0;

impl Matrix {
    #[allow(clippy::cast_precision_loss, reason = "a handful of fields")]
    fn field(&self, room: Room) -> (f64, f64) {
        let width = (room.width() - LEFT - 8.0) / self.columns.len().max(1) as f64;
        (width.min(120.0), 34.0)
    }

    #[allow(clippy::cast_precision_loss, reason = "a handful of fields")]
    pub(crate) fn height(&self, room: Room) -> f64 {
        TOP + self.field(room).1 * self.rows.len() as f64 + 8.0
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let (width, height) = self.field(room);
        #[allow(clippy::cast_precision_loss, reason = "a handful of fields")]
        let at = |row: usize, column: usize| (LEFT + width * column as f64, TOP + height * row as f64);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(self.height(room)))) {
                text x=(LEFT) y="14" { (self.across) " →" }
                text x="0" y=(TOP - 8.0) { (self.down) " ↓" }
                @for (column, text) in self.columns.iter().enumerate() {
                    text x=(rounded(at(0, column).0 + width / 2.0)) y=(TOP - 8.0) text-anchor="middle" { (text) }
                }
                @for (row, text) in self.rows.iter().enumerate() {
                    text x=(LEFT - 10.0) y=(rounded(at(row, 0).1 + height / 2.0 + 4.0)) text-anchor="end" { (text) }
                    @for (column, value) in self.fields[row].iter().enumerate() {
                        (self.draw(at(row, column), (width, height), *value))
                    }
                }
            }
        }
    }

    fn draw(&self, (x, y): (f64, f64), (width, height): (f64, f64), value: Option<f64>) -> Markup {
        let shade = value.map_or("none", |value| shade(self.scale, value));
        html! {
            rect class={ "field " (shade) } x=(rounded(x + 1.0)) y=(rounded(y + 1.0))
                width=(rounded(width - 2.0)) height=(rounded(height - 2.0)) rx="3" {}
            text class={ "field-name " (shade) } x=(rounded(x + width / 2.0)) y=(rounded(y + height / 2.0 + 4.0))
                text-anchor="middle" { (value.map_or_else(|| "–".to_owned(), self.label)) }
        }
    }
}

/// The class of the shade of a value: `h0` (smallest) to `h4`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place is 0 to 1")]
pub(crate) fn shade(scale: Scale, value: f64) -> &'static str {
    const SHADES: [&str; 5] = ["h0", "h1", "h2", "h3", "h4"];
    SHADES[((scale.place(value) * 5.0) as usize).min(4)]
}
