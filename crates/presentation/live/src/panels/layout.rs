//! The layout of the panels, from 80×24 up to very large terminals.

use ratatui::layout::{Constraint, Layout, Rect};

use super::header;
use crate::choices::{Choices, HEADING_ROWS};
use crate::screenful::{Panel, Screenful};

/// Areas of a screen.
pub(super) struct ScreenLayout {
    pub(super) header: Rect,
    pub(super) body: Rect,
    pub(super) bottom: Rect,
    pub(super) panels: Vec<(Panel, Rect)>,
}

/// From this width on, the causes have three panels side by side, and the heat map a band.
const WIDE: u16 = 120;
/// From this height on there is one band more.
const HIGH: u16 = 34;
/// Height of the band below a list.
const LIST_BAND: u16 = 6;
/// Columns between neighbouring panels.
const BETWEEN: u16 = 2;

pub(super) fn arrange(screen: &Screenful, choices: &Choices, area: Rect) -> ScreenLayout {
    let [header, body, bottom] = Layout::vertical([
        Constraint::Length(header::height(screen)),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    let panels = match choices.expanded.filter(|panel| screen.has(*panel)) {
        Some(panel) => vec![(panel, body)],
        None => bands(screen, body),
    };
    ScreenLayout { header, body, bottom, panels }
}

/// The main table, and below it as many bands of details of its selected row as fit.
fn bands(screen: &Screenful, body: Rect) -> Vec<(Panel, Rect)> {
    let is_wide = body.width >= WIDE;
    let candidates: &[&[Panel]] = match (is_wide, body.height >= HIGH) {
        _ if screen.is_list && is_wide => &[&[Panel::History, Panel::Causes, Panel::Parts]],
        _ if screen.is_list => &[&[Panel::History, Panel::Causes]],
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
    let available =
        |band: &&[Panel]| -> Vec<Panel> { band.iter().copied().filter(|panel| screen.has(*panel)).collect() };
    let bands: Vec<Vec<Panel>> = candidates.iter().map(available).filter(|band| !band.is_empty()).collect();
    let rows = u16::try_from(screen.table.rows.len() + HEADING_ROWS).unwrap_or(u16::MAX);
    // One empty line between the bands.
    let heights = match (screen.is_list, body.height.checked_sub(LIST_BAND + 1)) {
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

/// Heights of the table and of the bands. The table has as much as its rows need, up to half; the bands share the rest equally.
/// The last bands are dropped until each has four lines.
fn heights(rows: u16, bands: usize, height: u16) -> Vec<u16> {
    const MIN_BAND: u16 = 4;
    let mut bands = u16::try_from(bands).unwrap_or(0);
    loop {
        if bands == 0 {
            return vec![height];
        }
        let spare = height.saturating_sub(bands);
        let table = rows.clamp(MIN_BAND, (spare / 2).max(MIN_BAND));
        let each = spare.saturating_sub(table) / bands;
        if each >= MIN_BAND {
            let first = spare - each * bands;
            return std::iter::once(first).chain((0..bands).map(|_| each)).collect();
        }
        bands -= 1;
    }
}

/// Panels of one band: equally wide, only the history is twice as wide.
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
                    let total: u16 = heights.iter().sum::<u16>() + between;
                    assert!(total <= height, "{rows} {bands} {height}: {heights:?}");
                    assert!(heights.iter().all(|height| *height >= 4), "{heights:?}");
                }
            }
        }
        assert_eq!(heights(5, 2, 21).len(), 3, "a usual screen has two bands");
        assert_eq!(heights(5, 2, 11).len(), 2, "a low one has one");
    }
}
