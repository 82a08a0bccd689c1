//! Rows too many to be named: two units high, with one path per column and shade.

use maud::{Markup, html};

use super::path::rounded;

/// CSS class of the shade of each column; `None` where no value is known.
pub(crate) type ThinRow = Vec<Option<&'static str>>;

/// Height of a row, and the gap above the first.
const STRIP: f64 = 2.0;
const GAP: f64 = 6.0;

/// Height of all rows with the gap.
pub(super) fn thin_rows_height(thin_rows: &[ThinRow]) -> f64 {
    if thin_rows.is_empty() { 0.0 } else { GAP + STRIP * thin_rows.len() as f64 }
}

/// Draws all rows from `(left, top)` down, in `columns` columns of this width.
pub(super) fn thin_rows(
    thin_rows: &[ThinRow],
    (left, top): (f64, f64),
    (width, columns): (f64, usize),
) -> Markup {
    html! {
        @if !thin_rows.is_empty() {
            text x=(rounded(left - 10.0)) y=(rounded(top + GAP + 10.0)) text-anchor="end" { "others" }
            @for column in 0..columns {
                @for (shade, path) in paths(thin_rows, column, (left + width * column as f64, top + GAP), width) {
                    path class={ "field " (shade) } d=(path) {}
                }
            }
        }
    }
}

/// One path per shade of a column: equal neighbours are one rectangle.
fn paths(
    thin_rows: &[ThinRow],
    column: usize,
    (x, y): (f64, f64),
    width: f64,
) -> Vec<(&'static str, String)> {
    let mut paths: Vec<(&'static str, String)> = Vec::new();
    let shade = |row: &ThinRow| row.get(column).copied().flatten().unwrap_or("none");
    let mut top = y;
    for run in thin_rows.chunk_by(|a, b| shade(a) == shade(b)) {
        let height = STRIP * run.len() as f64;
        let (across, down) = (rounded(width - 2.0), rounded(height));
        let rectangle = format!("M{} {}h{across}v{down}h-{across}z", rounded(x + 1.0), rounded(top));
        match paths.iter_mut().find(|(shade_so_far, _)| *shade_so_far == shade(&run[0])) {
            Some((_, path)) => path.push_str(&rectangle),
            None => paths.push((shade(&run[0]), rectangle)),
        }
        top += height;
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_shade_are_one_rectangle() {
        let thin_rows: Vec<ThinRow> =
            [Some("h4"), Some("h0"), Some("h0"), None, Some("h0")].map(|shade| vec![shade]).into();
        let found = paths(&thin_rows, 0, (10.0, 100.0), 22.0);
        assert_eq!(
            found,
            [
                ("h4", "M11 100h20v2h-20z".to_owned()),
                ("h0", "M11 102h20v4h-20zM11 108h20v2h-20z".to_owned()),
                ("none", "M11 106h20v2h-20z".to_owned())
            ]
        );
    }
}
