//! Where panels are: 80×24 up to a wall.

use ratatui::layout::{Constraint, Layout, Rect};

use super::header;
use crate::choices::{Choices, HEADING_ROWS};
use crate::screenful::{Panel, Screenful};

/// Where everything is.
pub(super) struct Screen {
    pub(super) header: Rect,
    pub(super) body: Rect,
    pub(super) bottom: Rect,
    pub(super) panels: Vec<(Panel, Rect)>,
}

/// A screen from here on has the map beside the history.
const WIDE: u16 = 120;
/// A screen from here on has a band more.
const HIGH: u16 = 34;
/// Lines below a list.
const LIST_BAND: u16 = 6;
/// Columns between panels that stand side by side.
const BETWEEN: u16 = 2;

pub(super) fn screen(shown: &Screenful, choices: &Choices, all: Rect) -> Screen {
    let [header, body, bottom] = Layout::vertical([
        Constraint::Length(header::height(shown)),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(all);
    let panels = match choices.expanded.filter(|panel| shown.has(*panel)) {
        Some(panel) => vec![(panel, body)],
        None => bands(shown, body),
    };
    Screen { header, body, bottom, panels }
}

/// The table, and below it bands of what its selected row is made of, as many as there is room for.
fn bands(shown: &Screenful, body: Rect) -> Vec<(Panel, Rect)> {
    let is_wide = body.width >= WIDE;
    let wanted: &[&[Panel]] = match (is_wide, body.height >= HIGH) {
        _ if shown.is_list && is_wide => &[&[Panel::History, Panel::Causes, Panel::Parts]],
        _ if shown.is_list => &[&[Panel::History, Panel::Causes]],
        (true, true) => &[
            &[Panel::History, Panel::Histogram],
            &[Panel::HeatMap],
            &[Panel::Causes, Panel::Late, Panel::Parts],
        ],
        (true, false) => &[&[Panel::History, Panel::Histogram], &[Panel::Causes, Panel::Late, Panel::Parts]],
        (false, true) => {
            &[&[Panel::History, Panel::Histogram], &[Panel::Causes, Panel::Late], &[Panel::Parts]]
        }
        (false, false) => &[&[Panel::History, Panel::Histogram], &[Panel::Causes, Panel::Late]],
    };
    let of_band =
        |band: &&[Panel]| -> Vec<Panel> { band.iter().copied().filter(|panel| shown.has(*panel)).collect() };
    let bands: Vec<Vec<Panel>> = wanted.iter().map(of_band).filter(|band| !band.is_empty()).collect();
    let rows = u16::try_from(shown.table.rows.len() + HEADING_ROWS).unwrap_or(u16::MAX);
    // A line is left between them.
    let heights = match (shown.is_list, body.height.checked_sub(LIST_BAND + 1)) {
        (true, Some(table)) => vec![table, LIST_BAND],
        _ => heights(rows, bands.len(), body.height),
    };
    let mut y = body.y;
    let mut panels = Vec::new();
    for (number, height) in heights.iter().enumerate() {
        let band = Rect { y, height: *height, ..body };
        match number.checked_sub(1).and_then(|number| bands.get(number)) {
            None => panels.push((Panel::Table, band)),
            Some(side_by_side) => panels.extend(split(side_by_side, band)),
        }
        y += height + 1;
    }
    panels
}

/// The table has what its rows take, up to half; the bands have the rest, each as much, those that come last going first where that
/// is less than four lines.
fn heights(rows: u16, bands: usize, height: u16) -> Vec<u16> {
    const LEAST: u16 = 4;
    let mut bands = u16::try_from(bands).unwrap_or(0);
    loop {
        if bands == 0 {
            return vec![height];
        }
        let spare = height.saturating_sub(bands);
        let table = rows.clamp(LEAST, (spare / 2).max(LEAST));
        let each = spare.saturating_sub(table) / bands;
        if each >= LEAST {
            let first = spare - each * bands;
            return std::iter::once(first).chain((0..bands).map(|_| each)).collect();
        }
        bands -= 1;
    }
}

/// Panels side by side: each as wide, or the first twice as wide as the histogram beside it.
fn split(panels: &[Panel], band: Rect) -> Vec<(Panel, Rect)> {
    let weight = |panel: &Panel| Constraint::Fill(if *panel == Panel::History { 2 } else { 1 });
    let areas = Layout::horizontal(panels.iter().map(weight)).spacing(BETWEEN).split(band);
    panels.iter().copied().zip(areas.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_have_room_or_are_not_there() {
        for rows in [2, 5, 40] {
            for bands in 0..4 {
                for height in 10..80 {
                    let heights = heights(rows, bands, height);
                    let between = u16::try_from(heights.len() - 1).unwrap();
                    let all: u16 = heights.iter().sum::<u16>() + between;
                    assert!(all <= height, "{rows} {bands} {height}: {heights:?}");
                    assert!(heights.iter().all(|one| *one >= 4), "{heights:?}");
                }
            }
        }
        assert_eq!(heights(5, 2, 21).len(), 3, "a usual screen has two bands");
        assert_eq!(heights(5, 2, 11).len(), 2, "a low one has one");
    }
}
