//! Ridgeline plot: density of values by row, with median, 99th percentile and maximum.

use maud::{Markup, html};

use super::labelled_rows::{LabelledRows, RowGroup, RowLabel};
use super::path::{SvgPath, rounded};
use super::{Area, Axis, Hue, Room};

/// Groups of ridges on one axis.
pub(crate) struct Ridges {
    pub(crate) axis: Axis,
    pub(crate) groups: Vec<RidgeGroup>,
    /// Vertical lines through all rows: value and label.
    pub(crate) rules: Vec<(f64, String)>,
}

pub(crate) struct RidgeGroup {
    pub(crate) heading: String,
    pub(crate) ridges: Vec<Ridge>,
}

pub(crate) struct Ridge {
    pub(crate) label: RowLabel,
    pub(crate) hue: Hue,
    /// Density at equal steps along the axis, 1 at its maximum.
    pub(crate) heights: Vec<f64>,
    /// In units of the axis; `p99` is `None` with too few values.
    pub(crate) p50: f64,
    pub(crate) p99: Option<f64>,
    pub(crate) max: f64,
}

/// Row heights of a short and of a long list, in pixels, and the rows of a short one.
const HIGH: f64 = 40.0;
const LOW: f64 = 24.0;
const FEW: usize = 12;
const LEAST: f64 = 0.004;

impl Ridges {
    fn frame(&self) -> LabelledRows<'_> {
        let rows: usize = self.groups.iter().map(|group| group.ridges.len()).sum();
        let group = |group: &RidgeGroup| RowGroup {
            heading: group.heading.clone(),
            rows: group.ridges.iter().map(|ridge| ridge.label.clone()).collect(),
        };
        LabelledRows {
            axis: &self.axis,
            height: if rows <= FEW { HIGH } else { LOW },
            groups: self.groups.iter().map(group).collect(),
            rules: self.rules.clone(),
        }
    }

    pub(crate) fn height(&self, room: Room) -> f64 {
        self.frame().height(room)
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let all: Vec<&Ridge> = self.groups.iter().flat_map(|group| &group.ridges).collect();
        self.frame().svg(room, name, |area, number| draw(area, all[number]))
    }
}

fn draw(area: &Area<'_>, ridge: &Ridge) -> Markup {
    let (hue, ground) = (ridge.hue.class(), area.bottom);
    let [p50, max] = [ridge.p50, ridge.max].map(|value| area.x(value));
    html! {
        path class="ground" d=(format!("M{} {}H{}", rounded(area.left), rounded(ground), rounded(area.right))) {}
        path class={ "ridge " (hue) } d=(outline(area, &ridge.heights)) {}
        path class={ "reach " (hue) } d=(format!("M{} {}H{}", rounded(p50), rounded(ground), rounded(max))) {}
        path class={ "median " (hue) } d=(format!("M{} {}v-14", rounded(p50), rounded(ground))) {}
        @if let Some(p99) = ridge.p99 {
            path class={ "flag " (hue) } d=(format!("M{} {}l5 5l-5 5l-5 -5z", rounded(area.x(p99)), rounded(ground - 5.0))) {}
        }
        path class={ "line " (hue) } d=(format!("M{} {}v10", rounded(max), rounded(ground - 5.0))) {}
    }
}

/// Path along the heights, interrupted where they are invisible.
fn outline(area: &Area<'_>, heights: &[f64]) -> String {
    let (steps, width) = (heights.len().max(2) as f64 - 1.0, area.right - area.left);
    let x = |place: usize| area.left + width * place as f64 / steps;
    let y = |height: f64| area.bottom - height * (area.bottom - area.top);
    let mut path = SvgPath::default();
    let mut is_up = false;
    for (place, height) in heights.iter().enumerate() {
        match (*height > LEAST, is_up) {
            (true, false) => {
                path.move_to(x(place.saturating_sub(1)), area.bottom);
                path.line_to(x(place), y(*height));
            }
            (true, true) => path.line_to(x(place), y(*height)),
            (false, true) => path.line_to(x(place), area.bottom),
            (false, false) => {}
        }
        is_up = *height > LEAST;
    }
    if is_up {
        path.line_to(area.right, area.bottom);
    }
    path.into_text()
}
