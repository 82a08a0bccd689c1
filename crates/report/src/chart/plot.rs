//! Marks between two axes.

use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Axis, Mark, Room, axes};

/// A picture with a horizontal and a vertical axis.
pub(crate) struct Plot {
    pub(crate) horizontal: Axis,
    pub(crate) vertical: Axis,
    /// From the first, which is covered by all others, to the last.
    pub(crate) marks: Vec<Mark>,
    pub(crate) form: Form,
}

/// How a plot stands among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// By itself.
    Alone,
    /// One of several low ones that share the horizontal axis of the last.
    Strip,
    /// The last of those.
    LastStrip,
}

impl Form {
    /// Room above the area, for the vertical axis' title.
    const fn above(self) -> f64 {
        match self {
            Self::Alone => 30.0,
            Self::Strip | Self::LastStrip => 8.0,
        }
    }

    /// Room below, for the horizontal axis.
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
            (Self::Strip | Self::LastStrip, _) => 84.0,
        }
    }
}

impl Plot {
    /// The height in the picture's units.
    pub(crate) const fn height(&self, room: Room) -> f64 {
        self.form.above() + self.form.area(room) + self.form.below()
    }

    fn area(&self, room: Room) -> Area<'_> {
        Area {
            left: self.vertical.width(self.rows()),
            right: room.width() - 10.0,
            top: self.form.above(),
            bottom: self.height(room) - self.form.below(),
            horizontal: &self.horizontal,
            vertical: &self.vertical,
        }
    }

    /// Values named along the vertical axis.
    const fn rows(&self) -> usize {
        if matches!(self.form, Form::Alone) { 7 } else { 3 }
    }

    /// The picture as SVG; `name` is read out in its place.
    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let area = self.area(room);
        let scale = self.horizontal.scale;
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(self.height(room))))
                data-left=(rounded(area.left)) data-right=(rounded(area.right))
                data-from=(scale.from()) data-to=(scale.to()) data-log=(u8::from(scale.is_logarithmic())) {
                (axes::draw(&area, room, self.rows(), self.form != Form::Strip))
                @for mark in &self.marks { (mark.draw(&area)) }
            }
        }
    }
}
