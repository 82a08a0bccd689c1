//! Rows that are too many to be named: as thin as a line, and one path for all of a column that have the same shade.

use maud::{Markup, html};

use super::path::rounded;

/// The class of the shade of each field of a thin row; nothing where no value is known.
pub(crate) type Strip = Vec<Option<&'static str>>;

/// How high each is, and what is left free above.
const STRIP: f64 = 2.0;
const GAP: f64 = 6.0;

/// How high all are.
pub(super) fn strips_height(strips: &[Strip]) -> f64 {
    if strips.is_empty() { 0.0 } else { GAP + STRIP * strips.len() as f64 }
}

/// All of them below `(left, top)`, in so many columns of this width.
pub(super) fn strips(strips: &[Strip], (left, top): (f64, f64), (width, columns): (f64, usize)) -> Markup {
    html! {
        @if !strips.is_empty() {
            text x=(rounded(left - 10.0)) y=(rounded(top + GAP + 10.0)) text-anchor="end" { "others" }
            @for column in 0..columns {
                @for (shade, path) in paths(strips, column, (left + width * column as f64, top + GAP), width) {
                    path class={ "field " (shade) } d=(path) {}
                }
            }
        }
    }
}

/// One path for each shade of a column: neighbours of the same shade are one rectangle.
fn paths(strips: &[Strip], column: usize, (x, y): (f64, f64), width: f64) -> Vec<(&'static str, String)> {
    let mut paths: Vec<(&'static str, String)> = Vec::new();
    let shade = |strip: &Strip| strip.get(column).copied().flatten().unwrap_or("none");
    let mut top = y;
    for run in strips.chunk_by(|one, other| shade(one) == shade(other)) {
        let height = STRIP * run.len() as f64;
        let (across, down) = (rounded(width - 2.0), rounded(height));
        let one = format!("M{} {}h{across}v{down}h-{across}z", rounded(x + 1.0), rounded(top));
        match paths.iter_mut().find(|(known, _)| *known == shade(&run[0])) {
            Some((_, path)) => path.push_str(&one),
            None => paths.push((shade(&run[0]), one)),
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
        let strips: Vec<Strip> =
            [Some("h4"), Some("h0"), Some("h0"), None, Some("h0")].map(|one| vec![one]).into();
        let found = paths(&strips, 0, (10.0, 100.0), 22.0);
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
