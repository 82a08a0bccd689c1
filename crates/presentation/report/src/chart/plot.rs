//! Marks between two axes.

use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Axis, Hue, Mark, Room, axes};

pub(crate) struct Plot {
    pub(crate) horizontal: Axis,
    pub(crate) vertical: Axis,
    /// In drawing order: later marks cover earlier ones.
    pub(crate) marks: Vec<Mark>,
    pub(crate) form: PlotForm,
    /// Labels at the right ends of lines; a narrow plot has only the legend.
    pub(crate) ends: Vec<LineLabel>,
}

pub(crate) struct LineLabel {
    pub(crate) hue: Hue,
    /// Value on the vertical axis.
    pub(crate) at: f64,
    pub(crate) text: String,
}

/// Width for labels, minimum and maximum, and of the connecting line.
const BESIDE: (f64, f64) = (170.0, 300.0);
const BEFORE: f64 = 16.0;
/// Distance between labels, and approximate width of a letter.
const APART: f64 = 15.0;
const LETTER: f64 = 6.6;

/// Whether a plot stands alone or in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlotForm {
    Alone,
    /// One of several low plots that share the last one's horizontal axis.
    Strip,
    LastStrip,
}

impl PlotForm {
    /// Height above the area, for the vertical axis' title.
    const fn above(self) -> f64 {
        match self {
            Self::Alone => 30.0,
            Self::Strip | Self::LastStrip => 8.0,
        }
    }

    /// Height below the area, for the horizontal axis.
    const fn below(self) -> f64 {
        match self {
            Self::Alone | Self::LastStrip => 44.0,
            Self::Strip => 6.0,
        }
    }

    const fn area(self, room: Room) -> f64 {
        match (self, room) {
            (Self::Alone, Room::Wide) => 280.0,
            (Self::Alone, Room::Narrow) => 210.0,
            (Self::Strip | Self::LastStrip, _) => 98.0,
        }
    }
}

impl Plot {
    pub(crate) const fn height(&self, room: Room) -> f64 {
        self.form.above() + self.form.area(room) + self.form.below()
    }

    fn area(&self, room: Room) -> Area<'_> {
        Area {
            left: self.vertical.width(self.rows()),
            right: room.width() - if self.has_ends(room) { self.beside() } else { 10.0 },
            top: self.form.above(),
            bottom: self.height(room) - self.form.below(),
            horizontal: &self.horizontal,
            vertical: &self.vertical,
        }
    }

    fn has_ends(&self, room: Room) -> bool {
        room == Room::Wide && !self.ends.is_empty()
    }

    /// The labels, moved apart where lines end close together.
    fn draw_ends(&self, area: &Area<'_>) -> Markup {
        let mut ends: Vec<&LineLabel> = self.ends.iter().collect();
        ends.sort_by(|a, b| b.at.total_cmp(&a.at));
        let mut above = area.top - APART;
        let mut next = |end: &LineLabel| {
            above = (above + APART).max(area.y(end.at) + 4.0);
            above
        };
        let placed: Vec<(&LineLabel, f64)> = ends.into_iter().map(|end| (end, next(end))).collect();
        html! {
            @for (end, y) in &placed {
                path class={ "line " (end.hue.class()) } d=(format!("M{} {}L{} {}", rounded(area.right + 2.0), rounded(area.y(end.at)), rounded(area.right + 12.0), rounded(y - 4.0))) {}
                text class={ "end " (end.hue.class()) } x=(rounded(area.right + BEFORE)) y=(rounded(*y)) { (self.fitting(&end.text)) }
            }
        }
    }

    /// Width for the longest label.
    fn beside(&self) -> f64 {
        let longest = self.ends.iter().map(|end| end.text.chars().count()).max().unwrap_or(0);
        (BEFORE + LETTER * (longest as f64 + 1.0)).clamp(BESIDE.0, BESIDE.1)
    }

    /// `text` cut to the width for labels.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
    fn fitting(&self, text: &str) -> String {
        let room = ((self.beside() - BEFORE) / LETTER) as usize;
        if text.chars().count() <= room {
            text.to_owned()
        } else {
            text.chars().take(room - 1).chain(['…']).collect()
        }
    }

    /// Maximum tick labels along the vertical axis.
    const fn rows(&self) -> usize {
        if matches!(self.form, PlotForm::Alone) { 7 } else { 3 }
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let area = self.area(room);
        let (scale, up) = (self.horizontal.scale, self.vertical.scale);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(self.height(room))))
                data-left=(rounded(area.left)) data-right=(rounded(area.right))
                data-top=(rounded(area.top)) data-bottom=(rounded(area.bottom))
                data-low=(up.from()) data-high=(up.to()) data-up-log=(u8::from(up.is_logarithmic()))
                data-from=(scale.from()) data-to=(scale.to()) data-log=(u8::from(scale.is_logarithmic())) {
                (axes::draw(&area, room, self.rows(), self.form != PlotForm::Strip))
                @for mark in &self.marks { (mark.draw(&area)) }
                @for name in self.marks.iter().filter_map(|mark| mark.draw_label(&area)) { (name) }
                @if self.has_ends(room) { (self.draw_ends(&area)) }
            }
        }
    }
}
