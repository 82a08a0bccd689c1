//! Where on a picture its marks go.

use super::Axis;

/// The rectangle between the axes, in the picture's units, and the axes' scales.
pub(crate) struct Area<'a> {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) horizontal: &'a Axis,
    pub(crate) vertical: &'a Axis,
}

impl Area<'_> {
    /// Where a value is from the left.
    pub(crate) fn x(&self, value: f64) -> f64 {
        self.left + self.horizontal.scale.place(value) * (self.right - self.left)
    }

    /// Where a value is from the top.
    pub(crate) fn y(&self, value: f64) -> f64 {
        self.bottom - self.vertical.scale.place(value) * (self.bottom - self.top)
    }
}
