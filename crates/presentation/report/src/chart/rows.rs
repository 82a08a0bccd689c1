//! Rows on one axis: minimum, median, 99th percentile, maximum.

use maud::{Markup, html};

use super::path::rounded;
use super::row_frame::RowFrame;
use super::{Area, Axis, Hue, Room};

pub(crate) struct PercentileRows {
    pub(crate) axis: Axis,
    pub(crate) rows: Vec<PercentileRow>,
}

/// In units of the axis.
pub(crate) struct PercentileRow {
    pub(crate) name: String,
    pub(crate) hue: Hue,
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    pub(crate) tooltip: String,
}

const ROW: f64 = 36.0;
const TOP: f64 = 8.0;

impl PercentileRows {
    fn stack(&self) -> RowFrame<'_> {
        RowFrame { axis: &self.axis, top: TOP, each: ROW, count: self.rows.len() }
    }

    pub(crate) fn height(&self) -> f64 {
        self.stack().height()
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        self.stack().svg(room, name, |area, top, number| draw(area, top, &self.rows[number]))
    }
}

fn draw(area: &Area<'_>, top: f64, row: &PercentileRow) -> Markup {
    let y = top + 25.0;
    let [min, median, p99, max] = [row.min, row.median, row.p99, row.max].map(|value| area.x(value));
    let level =
        |from: f64, to: f64| format!("M{} {}H{}", rounded(from), rounded(y), rounded(to.max(from + 0.5)));
    html! {
        g {
            title { (row.name) ": " (row.tooltip) }
            text class="row-name" x=(rounded(area.left)) y=(rounded(top + 12.0)) { (row.name) }
            path class={ "reach " (row.hue.class()) } d=(level(min, max)) {}
            path class={ "core " (row.hue.class()) } d=(level(median, p99)) {}
            path class={ "line " (row.hue.class()) } d=(format!("M{} {}v12M{} {}v12", rounded(min), rounded(y - 6.0), rounded(max), rounded(y - 6.0))) {}
            circle class={ "spot " (row.hue.class()) } cx=(rounded(median)) cy=(rounded(y)) r="5" {}
            path class={ "flag " (row.hue.class()) } d=(format!("M{} {}l6 6l-6 6l-6 -6z", rounded(p99), rounded(y - 6.0))) {}
        }
    }
}
