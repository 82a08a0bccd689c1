//! Ridges: how thickly values lie along one axis, row by row, with what is usual and what is worst marked.

use maud::{Markup, html};

use super::labelled_rows::{Label, Shelf, Shelves};
use super::path::{Path, rounded};
use super::{Area, Axis, Hue, Room};

/// Groups of ridges on one axis.
pub(crate) struct Ridges {
    pub(crate) axis: Axis,
    pub(crate) groups: Vec<Range>,
    /// Straight lines through all rows, with their names.
    pub(crate) rules: Vec<(f64, String)>,
}

/// Ridges that belong together.
pub(crate) struct Range {
    pub(crate) heading: String,
    pub(crate) ridges: Vec<Ridge>,
}

/// One ridge, with its name.
pub(crate) struct Ridge {
    pub(crate) label: Label,
    pub(crate) hue: Hue,
    /// How thickly values lie at equal steps along the axis: 1 where they do most.
    pub(crate) heights: Vec<f64>,
    /// In the axis' values: median, 99th percentile (absent where there are too few), largest.
    pub(crate) p50: f64,
    pub(crate) p99: Option<f64>,
    pub(crate) max: f64,
}

/// Height of a row: of the many of a long list, and of few.
const HIGH: f64 = 40.0;
const LOW: f64 = 24.0;
const FEW: usize = 12;
/// What is lower than this cannot be seen.
const LEAST: f64 = 0.004;

impl Ridges {
    fn shelves(&self) -> Shelves<'_> {
        let rows: usize = self.groups.iter().map(|group| group.ridges.len()).sum();
        let shelf = |group: &Range| Shelf {
            heading: group.heading.clone(),
            rows: group.ridges.iter().map(|one| one.label.clone()).collect(),
        };
        Shelves {
            axis: &self.axis,
            height: if rows <= FEW { HIGH } else { LOW },
            shelves: self.groups.iter().map(shelf).collect(),
            rules: self.rules.clone(),
        }
    }

    pub(crate) fn height(&self, room: Room) -> f64 {
        self.shelves().height(room)
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let all: Vec<&Ridge> = self.groups.iter().flat_map(|group| &group.ridges).collect();
        self.shelves().svg(room, name, |area, number| draw(area, all[number]))
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

/// Along the tops; down to the ground where there is nothing.
fn outline(area: &Area<'_>, heights: &[f64]) -> String {
    let (steps, width) = (heights.len().max(2) as f64 - 1.0, area.right - area.left);
    let x = |place: usize| area.left + width * place as f64 / steps;
    let y = |height: f64| area.bottom - height * (area.bottom - area.top);
    let mut path = Path::default();
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
