//! Lanes: stretches of time one after the other, several lanes under one another on one axis.

use maud::{Markup, html};

use super::path::rounded;
use super::row_frame::Stack;
use super::{Area, Axis, Hue, Room};

/// Lanes under one another.
pub(crate) struct Lanes {
    pub(crate) axis: Axis,
    pub(crate) lanes: Vec<Lane>,
}

/// One lane, with its stretches.
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) pieces: Vec<Piece>,
}

/// One stretch, in the axis' values.
pub(crate) struct Piece {
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) hue: Hue,
    /// Written into it where there is room.
    pub(crate) label: String,
    /// All there is to say of it.
    pub(crate) words: String,
}

const LANE: f64 = 44.0;
/// Where a lane's bar is, and how high.
const BAR: f64 = 18.0;
const HEIGHT: f64 = 18.0;
const TOP: f64 = 6.0;
/// Width of a letter, about.
const LETTER: f64 = 6.6;
/// Of pieces next to each other at least this much is to be seen of each.
const LEAST: f64 = 0.8;

impl Lanes {
    fn stack(&self) -> Stack<'_> {
        Stack { axis: &self.axis, top: TOP, each: LANE, count: self.lanes.len() }
    }

    pub(crate) fn height(&self) -> f64 {
        self.stack().height()
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        self.stack().svg(room, name, |area, top, number| draw(area, top, &self.lanes[number]))
    }
}

fn draw(area: &Area<'_>, top: f64, lane: &Lane) -> Markup {
    html! {
        g {
            text class="row-name" x=(rounded(area.left)) y=(rounded(top + 13.0)) { (lane.name) }
            @for piece in &lane.pieces { (draw_piece(area, top + BAR, piece)) }
        }
    }
}

fn draw_piece(area: &Area<'_>, y: f64, piece: &Piece) -> Markup {
    let (from, until) = (area.x(piece.from), area.x(piece.until));
    let width = (until - from).max(LEAST);
    let label = fitting(&piece.label, width - 8.0);
    html! {
        g {
            title { (piece.words) }
            rect class={ "piece " (piece.hue.class()) } x=(rounded(from)) y=(rounded(y)) width=(rounded(width)) height=(rounded(HEIGHT)) {}
            @if let Some(label) = label {
                text class={ "piece-name " (piece.hue.class()) } x=(rounded(from + 4.0)) y=(rounded(y + 13.0)) { (label) }
            }
        }
    }
}

/// As much of `text` as fits into `width`; nothing where hardly any of it does.
fn fitting(text: &str, width: f64) -> Option<String> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
    let room = (width / LETTER).max(0.0) as usize;
    match text.chars().count() {
        0 => None,
        all if all <= room => Some(text.to_owned()),
        _ if room >= 5 => Some(text.chars().take(room - 1).chain(['…']).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_cut_rather_than_spilt() {
        assert_eq!(fitting("kworker/1:2", 100.0).as_deref(), Some("kworker/1:2"));
        assert_eq!(fitting("kworker/1:2", 46.2).as_deref(), Some("kworke…"));
        assert_eq!(fitting("kworker/1:2", 20.0), None);
        assert_eq!(fitting("hog", 20.0).as_deref(), Some("hog"));
    }
}
