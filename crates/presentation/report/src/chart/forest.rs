//! A forest: by how much things differ, each with its interval, about a line of no difference.

use maud::{Markup, html};

use super::labelled_rows::{Label, Shelf, Shelves};
use super::path::rounded;
use super::{Area, Axis, Hue, Room};

/// Groups of differences on one axis.
pub(crate) struct Forest {
    pub(crate) axis: Axis,
    /// Where there is no difference, and what is said there.
    pub(crate) none: (f64, String),
    pub(crate) groups: Vec<Group>,
}

/// Differences that belong together.
pub(crate) struct Group {
    pub(crate) heading: String,
    pub(crate) differences: Vec<Difference>,
}

/// One difference, in the axis' values.
pub(crate) struct Difference {
    pub(crate) label: Label,
    pub(crate) hue: Hue,
    pub(crate) at: f64,
    /// Absent where there is too little to say how sure it is.
    pub(crate) interval: Option<(f64, f64)>,
    /// Differences within this would not have been seen.
    pub(crate) unseen: Option<(f64, f64)>,
}

const ROW: f64 = 22.0;

impl Forest {
    fn shelves(&self) -> Shelves<'_> {
        let shelf = |group: &Group| Shelf {
            heading: group.heading.clone(),
            rows: group.differences.iter().map(|one| one.label.clone()).collect(),
        };
        Shelves {
            axis: &self.axis,
            height: ROW,
            shelves: self.groups.iter().map(shelf).collect(),
            rules: vec![self.none.clone()],
        }
    }

    pub(crate) fn height(&self, room: Room) -> f64 {
        self.shelves().height(room)
    }

    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        let all: Vec<&Difference> = self.groups.iter().flat_map(|group| &group.differences).collect();
        self.shelves().svg(room, name, |area, number| draw(area, all[number]))
    }
}

fn draw(area: &Area<'_>, one: &Difference) -> Markup {
    let y = f64::midpoint(area.top, area.bottom);
    let across = |(low, high): (f64, f64)| {
        let (from, to) = (area.x(low), area.x(high));
        format!("M{} {}H{}", rounded(from), rounded(y), rounded(to.max(from + 1.0)))
    };
    let hue = one.hue.class();
    html! {
        @if let Some(unseen) = one.unseen { path class="unseen" d=(across(unseen)) {} }
        @if let Some(interval) = one.interval {
            path class={ "whisker " (hue) } d=(across(interval)) {}
            circle class={ "spot " (hue) } cx=(rounded(area.x(one.at))) cy=(rounded(y)) r="5" {}
        } @else {
            circle class={ "line " (hue) } cx=(rounded(area.x(one.at))) cy=(rounded(y)) r="4" {}
        }
    }
}
