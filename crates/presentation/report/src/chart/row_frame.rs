//! What stands under one another on one axis: rows, lanes.

use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Axis, Room};

/// Room below, for the axis.
const BOTTOM: f64 = 44.0;

/// The frame of a picture.
pub(crate) struct Stack<'a> {
    pub(crate) axis: &'a Axis,
    /// Room above the first.
    pub(crate) top: f64,
    /// Height of each.
    pub(crate) each: f64,
    pub(crate) count: usize,
}

impl Stack<'_> {
    pub(crate) fn height(&self) -> f64 {
        self.top + self.each * self.count as f64 + BOTTOM
    }

    /// The picture; `draw` draws one, which begins that far down.
    pub(crate) fn svg(
        &self,
        room: Room,
        name: &str,
        draw: impl Fn(&Area<'_>, f64, usize) -> Markup,
    ) -> Markup {
        let nothing = Axis::new(self.axis.scale, "", |_| String::new());
        let area = Area {
            left: 12.0,
            right: room.width() - 14.0,
            top: self.top,
            bottom: self.height() - BOTTOM,
            horizontal: self.axis,
            vertical: &nothing,
        };
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(self.height()))) {
                (super::axes::draw_horizontal(&area, room))
                @for number in 0..self.count { (draw(&area, self.top + self.each * number as f64, number)) }
            }
        }
    }
}
