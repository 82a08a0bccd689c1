//! Gantt chart: bars along one axis, in lanes.

use maud::{Markup, html};

use super::path::rounded;
use super::row_frame::RowFrame;
use super::{Area, Axis, Hue, Room};

pub(crate) struct Gantt {
    pub(crate) axis: Axis,
    pub(crate) lanes: Vec<GanttLane>,
}

pub(crate) struct GanttLane {
    pub(crate) name: String,
    pub(crate) bars: Vec<GanttBar>,
}

/// `from` and `until` in units of the axis.
pub(crate) struct GanttBar {
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) hue: Hue,
    /// Printed inside where it fits.
    pub(crate) label: String,
    pub(crate) tooltip: String,
}

const LANE: f64 = 44.0;
/// Top of the bar within a lane, and its height.
const BAR: f64 = 18.0;
const HEIGHT: f64 = 18.0;
const TOP: f64 = 6.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.6;
/// Smallest visible width of a bar.
const LEAST: f64 = 0.8;

impl Gantt {
    fn stack(&self) -> RowFrame<'_> {
        RowFrame { axis: &self.axis, top: TOP, each: LANE, count: self.lanes.len() }
    }

    pub(crate) fn height(&self) -> f64 {
        self.stack().height()
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        self.stack().svg(room, name, |area, top, number| draw(area, top, &self.lanes[number]))
    }
}

fn draw(area: &Area<'_>, top: f64, lane: &GanttLane) -> Markup {
    html! {
        g {
            text class="row-name" x=(rounded(area.left)) y=(rounded(top + 13.0)) { (lane.name) }
            @for bar in &lane.bars { (draw_bar(area, top + BAR, bar)) }
        }
    }
}

fn draw_bar(area: &Area<'_>, y: f64, bar: &GanttBar) -> Markup {
    let (from, until) = (area.x(bar.from), area.x(bar.until));
    let width = (until - from).max(LEAST);
    let label = fitting(&bar.label, width - 8.0);
    html! {
        g {
            title { (bar.tooltip) }
            rect class={ "piece " (bar.hue.class()) } x=(rounded(from)) y=(rounded(y)) width=(rounded(width)) height=(rounded(HEIGHT)) {}
            @if let Some(label) = label {
                text class={ "piece-name " (bar.hue.class()) } x=(rounded(from + 4.0)) y=(rounded(y + 13.0)) { (label) }
            }
        }
    }
}

/// `text` cut to `width`; `None` where fewer than five letters fit.
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
