//! Frame of rows or lanes on one axis.

use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Axis, Room};

/// Height below, for the axis.
const BOTTOM: f64 = 44.0;

pub(crate) struct RowFrame<'a> {
    pub(crate) axis: &'a Axis,
    /// Height above the first row.
    pub(crate) top: f64,
    /// Height of a row.
    pub(crate) each: f64,
    pub(crate) count: usize,
}

impl RowFrame<'_> {
    pub(crate) fn height(&self) -> f64 {
        self.top + self.each * self.count as f64 + BOTTOM
    }

    /// SVG of the frame; `draw` draws the row with this index from this height on.
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
