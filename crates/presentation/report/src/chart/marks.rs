//! Marks between the axes of a plot.

use maud::{Markup, html};

use super::path::{SvgPath, polyline, rounded};
use super::{Area, Hue};

/// A mark, in units of the axes.
pub(crate) enum Mark {
    Line {
        hue: Hue,
        points: Vec<(f64, f64)>,
    },
    /// A step line over `(from, until, value)`, along the bottom in gaps.
    Steps {
        hue: Hue,
        steps: Vec<(f64, f64, f64)>,
        filled: bool,
    },
    /// A horizontal line over each `(from, until, value)`, with gaps.
    Tops {
        hue: Hue,
        tops: Vec<(f64, f64, f64)>,
    },
    /// The area between two lines: `(x, low, high)`.
    Band {
        hue: Hue,
        points: Vec<(f64, f64, f64)>,
    },
    Dots {
        hue: Hue,
        points: Vec<(f64, f64)>,
        radius: f64,
    },
    Spots {
        hue: Hue,
        spots: Vec<((f64, f64), String)>,
    },
    /// Heat map over the whole area, rows from the top; shade 0 is empty, [`SHADES`] the darkest.
    Heat {
        hue: Hue,
        rows: usize,
        columns: usize,
        shades: Vec<u8>,
    },
    /// A line across the area, with a label.
    Rule {
        along: Along,
        at: f64,
        text: String,
    },
    /// A grey range of the horizontal axis.
    Shade {
        from: f64,
        until: f64,
    },
    /// A triangle above a value of the horizontal axis.
    Flag {
        hue: Hue,
        at: f64,
    },
    /// Text above the upper right corner.
    Note {
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// At a value of the vertical axis.
    Horizontal,
    /// At a value of the horizontal axis.
    Vertical,
}

/// Opacities of the shades of a heat map.
const DARKNESS: [&str; 6] = ["0.12", "0.24", "0.38", "0.54", "0.74", "0.98"];
#[allow(clippy::cast_possible_truncation, reason = "a handful")]
pub(crate) const SHADES: u8 = DARKNESS.len() as u8;

impl Mark {
    /// The rule without its label.
    pub(crate) fn without_label(self) -> Self {
        match self {
            Self::Rule { along, at, .. } => Self::Rule { along, at, text: String::new() },
            other => other,
        }
    }

    pub(super) fn draw(&self, area: &Area<'_>) -> Markup {
        match self {
            Self::Line { hue, points } => line(area, *hue, points),
            Self::Steps { hue, steps, filled } => steps_of(area, *hue, steps, *filled),
            Self::Tops { hue, tops } => tops_of(area, *hue, tops),
            Self::Band { hue, points } => band(area, *hue, points),
            Self::Dots { hue, points, radius } => dots(area, *hue, points, *radius),
            Self::Spots { hue, spots } => spots_of(area, *hue, spots),
            Self::Heat { hue, rows, columns, shades } => heat(area, *hue, (*rows, *columns), shades),
            Self::Rule { along, at, .. } => rule(area, *along, *at),
            Self::Shade { from, until } => shade(area, *from, *until),
            Self::Flag { hue, at } => flag(area, *hue, *at),
            Self::Note { text } => html! {
                text class="note" x=(rounded(area.right)) y=(rounded(area.top - 14.0)) text-anchor="end" { (text) }
            },
        }
    }

    /// Label of the mark, drawn above all marks.
    pub(super) fn draw_label(&self, area: &Area<'_>) -> Option<Markup> {
        match self {
            Self::Rule { along, at, text } if !text.is_empty() => Some(rule_label(area, *along, *at, text)),
            _ => None,
        }
    }
}

fn line(area: &Area<'_>, hue: Hue, points: &[(f64, f64)]) -> Markup {
    let path = polyline(points.iter().map(|(x, y)| (area.x(*x), area.y(*y))));
    html! { path class={ "line " (hue.class()) } stroke-dasharray=[hue.dashes()] d=(path.into_text()) {} }
}

fn steps_of(area: &Area<'_>, hue: Hue, steps: &[(f64, f64, f64)], filled: bool) -> Markup {
    let mut path = SvgPath::default();
    let mut end = f64::NEG_INFINITY;
    for (from, until, value) in steps {
        let (from, until) = (area.x(*from), area.x(*until));
        if from > end + 0.5 {
            if end.is_finite() {
                path.vertical_to(area.bottom);
            }
            path.move_to(from, area.bottom);
        }
        path.vertical_to(area.y(*value));
        path.horizontal_to(until);
        end = until;
    }
    if end.is_finite() {
        path.vertical_to(area.bottom);
    }
    let class = if filled { "line filled " } else { "line " };
    html! { path class={ (class) (hue.class()) } stroke-dasharray=[hue.dashes()] d=(path.into_text()) {} }
}

fn tops_of(area: &Area<'_>, hue: Hue, tops: &[(f64, f64, f64)]) -> Markup {
    let mut path = SvgPath::default();
    for (from, until, value) in tops {
        path.move_to(area.x(*from), area.y(*value));
        path.horizontal_to(area.x(*until).max(area.x(*from) + 0.8));
    }
    html! { path class={ "line " (hue.class()) } d=(path.into_text()) {} }
}

fn band(area: &Area<'_>, hue: Hue, points: &[(f64, f64, f64)]) -> Markup {
    let there = points.iter().map(|(x, _, high)| (area.x(*x), area.y(*high)));
    let back = points.iter().rev().map(|(x, low, _)| (area.x(*x), area.y(*low)));
    let mut path = polyline(there.chain(back));
    path.close();
    html! { path class={ "band " (hue.class()) } d=(path.into_text()) {} }
}

/// One path of zero-length lines, whose round caps are the dots.
fn dots(area: &Area<'_>, hue: Hue, points: &[(f64, f64)], radius: f64) -> Markup {
    let dot = |(x, y): &(f64, f64)| format!("M{} {}h0", rounded(area.x(*x)), rounded(area.y(*y)));
    let path: String = points.iter().map(dot).collect();
    html! { path class={ "dots " (hue.class()) } stroke-width=(rounded(2.0 * radius)) d=(path) {} }
}

fn spots_of(area: &Area<'_>, hue: Hue, spots: &[((f64, f64), String)]) -> Markup {
    html! {
        @for ((x, y), tooltip) in spots {
            g class="mark" {
                title { (tooltip) }
                circle class={ "spot " (hue.class()) } cx=(rounded(area.x(*x))) cy=(rounded(area.y(*y))) r="4" {}
            }
        }
    }
}

/// One path per shade, of horizontal lines as thick as a row; equal neighbours are one line.
fn heat(area: &Area<'_>, hue: Hue, (rows, columns): (usize, usize), shades: &[u8]) -> Markup {
    let (width, height) = ((area.right - area.left) / columns as f64, (area.bottom - area.top) / rows as f64);
    let mut paths = [const { String::new() }; DARKNESS.len()];
    for (row, cells) in shades.chunks(columns).enumerate() {
        let y = rounded(area.top + height * (row as f64 + 0.5));
        let mut at = 0;
        for run in cells.chunk_by(|a, b| a == b) {
            if let Some(path) = usize::from(run[0]).checked_sub(1).and_then(|shade| paths.get_mut(shade)) {
                let (x, length) = (area.left + width * at as f64, width * run.len() as f64);
                path.push_str(&format!("M{} {y}h{}", rounded(x), rounded(length)));
            }
            at += run.len();
        }
    }
    html! {
        @for (darkness, path) in DARKNESS.iter().zip(&paths).filter(|(_, path)| !path.is_empty()) {
            path class={ "heat " (hue.class()) } stroke-width=(rounded(height)) stroke-opacity=(darkness) d=(path) {}
        }
    }
}

fn rule(area: &Area<'_>, along: Along, at: f64) -> Markup {
    let path = match along {
        Along::Horizontal => {
            format!("M{} {}H{}", rounded(area.left), rounded(area.y(at)), rounded(area.right))
        }
        Along::Vertical => format!("M{} {}V{}", rounded(area.x(at)), rounded(area.bottom), rounded(area.top)),
    };
    html! { path class="rule" d=(path) {} }
}

/// Above the left end of a horizontal rule; next to the upper end of a vertical one, rotated.
fn rule_label(area: &Area<'_>, along: Along, at: f64, text: &str) -> Markup {
    let (x, y) = match along {
        Along::Horizontal => (area.left + 4.0, area.y(at) - 4.0),
        Along::Vertical => (area.x(at) + 4.0, area.top + 4.0),
    };
    let rotation = (along == Along::Vertical).then(|| format!("rotate(90 {} {})", rounded(x), rounded(y)));
    html! { text class="rule-name" x=(rounded(x)) y=(rounded(y)) transform=[rotation] { (text) } }
}

fn shade(area: &Area<'_>, from: f64, until: f64) -> Markup {
    let (x, end) = (area.x(from), area.x(until));
    html! {
        rect class="shade" x=(rounded(x)) y=(rounded(area.top)) width=(rounded((end - x).max(0.5)))
            height=(rounded(area.bottom - area.top)) {}
    }
}

fn flag(area: &Area<'_>, hue: Hue, at: f64) -> Markup {
    let tip = format!("M{} {}l-5 -9h10z", rounded(area.x(at)), rounded(area.bottom));
    html! { path class={ "flag " (hue.class()) } d=(tip) {} }
}
