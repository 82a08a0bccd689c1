//! An axis: its scale, what is said along it.

use howlate_render::scale::Scale;
use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Room};

/// One axis.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    /// What it shows, with the unit where the values do not carry theirs.
    pub(crate) title: String,
    /// A value in words.
    pub(crate) label: fn(f64) -> String,
    /// Values to name, where they are not round numbers of the scale.
    pub(crate) named: Vec<(f64, String)>,
}

impl Axis {
    /// An axis that names round numbers.
    pub(crate) fn new(scale: Scale, title: impl Into<String>, label: fn(f64) -> String) -> Self {
        Self { scale, title: title.into(), label, named: Vec::new() }
    }

    /// At most `most` values with their words.
    fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        if !self.named.is_empty() {
            let every = self.named.len().div_ceil(most);
            return self.named.iter().step_by(every).cloned().collect();
        }
        self.scale.ticks(most).into_iter().map(|value| (value, (self.label)(value))).collect()
    }

    /// Room that the words need to the left of the picture.
    pub(crate) fn width(&self, most: usize) -> f64 {
        let longest = self.ticks(most).iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        #[allow(clippy::cast_precision_loss, reason = "a handful of letters")]
        let letters = longest as f64;
        letters * 7.0 + 10.0
    }
}

/// The grid, the values along both axes, and the axes' titles.
pub(crate) fn draw(area: &Area<'_>, room: Room, rows: usize, names_columns: bool) -> Markup {
    let rows = area.vertical.ticks(rows);
    html! {
        g class="grid" {
            @for (value, _) in &rows {
                path d=(format!("M{} {}H{}", rounded(area.left), rounded(area.y(*value)), rounded(area.right))) {}
            }
        }
        g class="ticks" {
            @for (value, text) in &rows {
                text x=(rounded(area.left - 6.0)) y=(rounded(area.y(*value) + 4.0)) text-anchor="end" { (text) }
            }
        }
        (uprights(area, room))
        @if names_columns { (draw_names(area, room)) }
        @if !area.vertical.title.is_empty() {
            text class="axis" x="0" y=(rounded(area.top - 14.0)) { "↑ " (area.vertical.title) }
        }
    }
}

/// The horizontal axis alone.
pub(crate) fn draw_horizontal(area: &Area<'_>, room: Room) -> Markup {
    html! { (uprights(area, room)) (draw_names(area, room)) }
}

fn uprights(area: &Area<'_>, room: Room) -> Markup {
    let up = |value: f64| {
        format!("M{} {}V{}", rounded(area.x(value)), rounded(area.bottom + 4.0), rounded(area.top))
    };
    html! { g class="grid" { @for (value, _) in &area.horizontal.ticks(room.ticks()) { path d=(up(*value)) {} } } }
}

fn draw_names(area: &Area<'_>, room: Room) -> Markup {
    html! {
        g class="ticks" {
            @for (value, text) in &area.horizontal.ticks(room.ticks()) {
                text x=(rounded(area.x(*value))) y=(rounded(area.bottom + 18.0))
                    text-anchor=(anchor(area, *value)) { (text) }
            }
        }
        @if !area.horizontal.title.is_empty() {
            text class="axis" x=(rounded(area.right)) y=(rounded(area.bottom + 37.0)) text-anchor="end" {
                (area.horizontal.title) " →"
            }
        }
    }
}

/// The last value must not reach over the picture's edge.
fn anchor(area: &Area<'_>, value: f64) -> &'static str {
    if area.x(value) > area.right - 16.0 {
        "end"
    } else if area.x(value) < area.left.min(16.0) + 4.0 {
        "start"
    } else {
        "middle"
    }
}
