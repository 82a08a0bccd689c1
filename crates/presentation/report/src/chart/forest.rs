//! Forest plot: differences with their intervals around a line of no difference.

use maud::{Markup, html};

use super::labelled_rows::{LabelledRows, RowGroup, RowLabel};
use super::path::rounded;
use super::{Area, Axis, Hue, Room};

/// Groups of rows on one axis.
pub(crate) struct Forest {
    pub(crate) axis: Axis,
    /// Axis value of no difference, and its label.
    pub(crate) none: (f64, String),
    pub(crate) groups: Vec<ForestGroup>,
}

pub(crate) struct ForestGroup {
    pub(crate) heading: String,
    pub(crate) differences: Vec<ForestRow>,
}

/// One difference, in units of the axis.
pub(crate) struct ForestRow {
    pub(crate) label: RowLabel,
    pub(crate) hue: Hue,
    pub(crate) at: f64,
    /// `None`: too few data for an interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Differences within this range are too small to be detected.
    pub(crate) undetected: Option<(f64, f64)>,
}

const ROW: f64 = 22.0;

impl Forest {
    fn frame(&self) -> LabelledRows<'_> {
        let group = |group: &ForestGroup| RowGroup {
            heading: group.heading.clone(),
            rows: group.differences.iter().map(|row| row.label.clone()).collect(),
        };
        LabelledRows {
            axis: &self.axis,
            height: ROW,
            groups: self.groups.iter().map(group).collect(),
            rules: vec![self.none.clone()],
        }
    }

    pub(crate) fn height(&self, room: Room) -> f64 {
        self.frame().height(room)
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let all: Vec<&ForestRow> = self.groups.iter().flat_map(|group| &group.differences).collect();
        self.frame().svg(room, name, |area, number| draw_row(area, all[number]))
    }
}

fn draw_row(area: &Area<'_>, row: &ForestRow) -> Markup {
    let y = f64::midpoint(area.top, area.bottom);
    let across = |(low, high): (f64, f64)| {
        let (from, to) = (area.x(low), area.x(high));
        format!("M{} {}H{}", rounded(from), rounded(y), rounded(to.max(from + 1.0)))
    };
    let hue = row.hue.class();
    html! {
        @if let Some(undetected) = row.undetected { path class="unseen" d=(across(undetected)) {} }
        @if let Some(interval) = row.interval {
            path class={ "whisker " (hue) } d=(across(interval)) {}
            circle class={ "spot " (hue) } cx=(rounded(area.x(row.at))) cy=(rounded(y)) r="5" {}
        } @else {
            circle class={ "line " (hue) } cx=(rounded(area.x(row.at))) cy=(rounded(y)) r="4" {}
        }
    }
}
