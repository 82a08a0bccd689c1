//! What is drawn between the axes.

use maud::{Markup, html};

use super::path::{Path, rounded, through};
use super::{Area, Hue};

/// Something drawn, in the axes' values.
pub(crate) enum Mark {
    /// A line from point to point.
    Line { hue: Hue, points: Vec<(f64, f64)> },
    /// A line that runs level over each stretch `(from, until, value)`, and along the bottom between them.
    Steps { hue: Hue, steps: Vec<(f64, f64, f64)>, filled: bool },
    /// A level line over each stretch `(from, until, value)`, and nothing between them.
    Tops { hue: Hue, tops: Vec<(f64, f64, f64)> },
    /// What lies between two lines: `(x, low, high)`.
    Band { hue: Hue, points: Vec<(f64, f64, f64)> },
    /// A dot for each point.
    Dots { hue: Hue, points: Vec<(f64, f64)>, radius: f64 },
    /// Rectangles, the darker the more weight (0 to 1) they have.
    Cells { hue: Hue, cells: Vec<Cell> },
    /// A straight line at a value, with its name.
    Rule { along: Along, at: f64, text: String },
    /// A stretch of the horizontal axis.
    Shade { from: f64, until: f64 },
    /// A triangle that points at a value of the horizontal axis from above.
    Flag { hue: Hue, at: f64 },
    /// Words above the upper right corner.
    Note { text: String },
}

/// One rectangle, in the axes' values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) weight: f64,
}

/// Which way a rule runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// From left to right, at a value of the vertical axis.
    Horizontal,
    /// From bottom to top, at a value of the horizontal axis.
    Vertical,
}

/// Shades of a cell.
const SHADES: [&str; 4] = ["0.18", "0.36", "0.6", "0.95"];

impl Mark {
    pub(super) fn draw(&self, area: &Area<'_>) -> Markup {
        match self {
            Self::Line { hue, points } => line(area, *hue, points),
            Self::Steps { hue, steps, filled } => steps_of(area, *hue, steps, *filled),
            Self::Tops { hue, tops } => tops_of(area, *hue, tops),
            Self::Band { hue, points } => band(area, *hue, points),
            Self::Dots { hue, points, radius } => dots(area, *hue, points, *radius),
            Self::Cells { hue, cells } => cells_of(area, *hue, cells),
            Self::Rule { along, at, text } => rule(area, *along, *at, text),
            Self::Shade { from, until } => shade(area, *from, *until),
            Self::Flag { hue, at } => flag(area, *hue, *at),
            Self::Note { text } => html! {
                text class="note" x=(rounded(area.right)) y=(rounded(area.top - 14.0)) text-anchor="end" { (text) }
            },
        }
    }
}

fn line(area: &Area<'_>, hue: Hue, points: &[(f64, f64)]) -> Markup {
    let path = through(points.iter().map(|(x, y)| (area.x(*x), area.y(*y))));
    html! { path class={ "line " (hue.class()) } stroke-dasharray=[hue.dashes()] d=(path.into_text()) {} }
}

fn steps_of(area: &Area<'_>, hue: Hue, steps: &[(f64, f64, f64)], filled: bool) -> Markup {
    let mut path = Path::default();
    let mut end = f64::NEG_INFINITY;
    for (from, until, value) in steps {
        let (from, until) = (area.x(*from), area.x(*until));
        if from > end + 0.5 {
            if end.is_finite() {
                path.up_or_down_to(area.bottom);
            }
            path.move_to(from, area.bottom);
        }
        path.up_or_down_to(area.y(*value));
        path.across_to(until);
        end = until;
    }
    if end.is_finite() {
        path.up_or_down_to(area.bottom);
    }
    let class = if filled { "line filled " } else { "line " };
    html! { path class={ (class) (hue.class()) } stroke-dasharray=[hue.dashes()] d=(path.into_text()) {} }
}

fn tops_of(area: &Area<'_>, hue: Hue, tops: &[(f64, f64, f64)]) -> Markup {
    let mut path = Path::default();
    for (from, until, value) in tops {
        path.move_to(area.x(*from), area.y(*value));
        path.across_to(area.x(*until).max(area.x(*from) + 0.8));
    }
    html! { path class={ "line " (hue.class()) } d=(path.into_text()) {} }
}

fn band(area: &Area<'_>, hue: Hue, points: &[(f64, f64, f64)]) -> Markup {
    let there = points.iter().map(|(x, _, high)| (area.x(*x), area.y(*high)));
    let back = points.iter().rev().map(|(x, low, _)| (area.x(*x), area.y(*low)));
    let mut path = through(there.chain(back));
    path.close();
    html! { path class={ "band " (hue.class()) } d=(path.into_text()) {} }
}

/// Dots as one path of lines without length, whose round ends are the dots.
fn dots(area: &Area<'_>, hue: Hue, points: &[(f64, f64)], radius: f64) -> Markup {
    let dot = |(x, y): &(f64, f64)| format!("M{} {}h0", rounded(area.x(*x)), rounded(area.y(*y)));
    let path: String = points.iter().map(dot).collect();
    html! { path class={ "dots " (hue.class()) } stroke-width=(rounded(2.0 * radius)) d=(path) {} }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a weight is 0 to 1")]
fn cells_of(area: &Area<'_>, hue: Hue, cells: &[Cell]) -> Markup {
    let mut shades: [String; SHADES.len()] = Default::default();
    for cell in cells {
        let shade = ((cell.weight * SHADES.len() as f64) as usize).min(SHADES.len() - 1);
        let (x, y) = (area.x(cell.from), area.y(cell.high));
        let (width, height) = ((area.x(cell.until) - x).max(0.8), (area.y(cell.low) - y).max(0.8));
        shades[shade].push_str(&format!(
            "M{} {}h{}v{}h-{}z",
            rounded(x),
            rounded(y),
            rounded(width),
            rounded(height),
            rounded(width)
        ));
    }
    html! {
        @for (shade, path) in SHADES.iter().zip(&shades).filter(|(_, path)| !path.is_empty()) {
            path class={ "cells " (hue.class()) } fill-opacity=(shade) d=(path) {}
        }
    }
}

fn rule(area: &Area<'_>, along: Along, at: f64, text: &str) -> Markup {
    let (path, x, y) = match along {
        Along::Horizontal => {
            let y = area.y(at);
            (
                format!("M{} {}H{}", rounded(area.left), rounded(y), rounded(area.right)),
                area.left + 4.0,
                y - 4.0,
            )
        }
        Along::Vertical => {
            let x = area.x(at);
            (
                format!("M{} {}V{}", rounded(x), rounded(area.bottom), rounded(area.top)),
                x + 4.0,
                area.top + 10.0,
            )
        }
    };
    let turned =
        (along == Along::Vertical).then(|| format!("rotate(90 {} {})", rounded(x), rounded(area.top + 4.0)));
    let y = if turned.is_some() { area.top + 4.0 } else { y };
    html! {
        path class="rule" d=(path) {}
        text class="rule-name" x=(rounded(x)) y=(rounded(y)) transform=[turned] { (text) }
    }
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
