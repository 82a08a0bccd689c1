//! Drawing of axes: grid, tick labels, titles.

use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Room};

/// Grid, tick labels and titles of both axes.
pub(crate) fn draw(area: &Area<'_>, room: Room, rows: usize, has_labels: bool) -> Markup {
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
        (vertical_grid(area, room))
        @if has_labels { (draw_labels(area, room)) }
        @if !area.vertical.title.is_empty() {
            text class="axis" x="0" y=(rounded(area.top - 14.0)) { "↑ " (area.vertical.title) }
        }
    }
}

/// Grid and labels of the horizontal axis.
pub(crate) fn draw_horizontal(area: &Area<'_>, room: Room) -> Markup {
    html! { (vertical_grid(area, room)) (draw_labels(area, room)) }
}

fn vertical_grid(area: &Area<'_>, room: Room) -> Markup {
    let up = |value: f64| {
        format!("M{} {}V{}", rounded(area.x(value)), rounded(area.bottom + 4.0), rounded(area.top))
    };
    html! { g class="grid" { @for (value, _) in &area.horizontal.ticks(label_count(area, room)) { path d=(up(*value)) {} } } }
}

fn draw_labels(area: &Area<'_>, room: Room) -> Markup {
    html! {
        g class="ticks" {
            @for (value, text) in &area.horizontal.ticks(label_count(area, room)) {
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

/// Number of tick labels that fit; an area may be narrower than its picture.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful")]
fn label_count(area: &Area<'_>, room: Room) -> usize {
    const EACH: f64 = 75.0;
    room.ticks().min((((area.right - area.left) / EACH) as usize).max(Room::Narrow.ticks()))
}

/// Text anchor that keeps a label within the picture.
fn anchor(area: &Area<'_>, value: f64) -> &'static str {
    if area.x(value) > area.right - 16.0 {
        "end"
    } else if area.x(value) < area.left.min(16.0) + 4.0 {
        "start"
    } else {
        "middle"
    }
}
