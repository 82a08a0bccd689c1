//! Heat map of wake-ups: one column per interval of time, one row per latency.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::history::{describe_window, latency, merge_to_columns, window};
use super::line::{self, row};
use crate::screenful::{HistoryInterval, LatencyHistory};
use crate::theme::LiveTheme;

/// Width of the latency scale.
const SCALE: u16 = 9;

pub(super) fn paint(
    history: &LatencyHistory,
    narrowed: u32,
    (title, heading): (&str, Style),
    theme: LiveTheme,
    area: Rect,
    cells: &mut Buffer,
) {
    let intervals = window(history, narrowed);
    let title_line = row(area, 0);
    let used = line::paint(title, heading, title_line, cells);
    let rest = Rect { x: title_line.x + used, width: title_line.width.saturating_sub(used), ..title_line };
    line::paint(&describe_window(intervals), theme.dim(), rest, cells);
    let body = Rect {
        x: area.x + SCALE,
        y: area.y + 1,
        width: area.width.saturating_sub(SCALE),
        height: area.height.saturating_sub(1),
    };
    let bins = merge_to_columns(intervals, usize::from(body.width));
    let lower_edges = || bins.iter().flat_map(|bin| bin.counts.iter().map(|(from, _)| *from));
    let (Some(lowest), Some(highest)) = (lower_edges().min(), lower_edges().max()) else { return };
    let scale = LatencyScale { lowest, highest, rows: usize::from(body.height) };
    let largest = bins.iter().flat_map(|bin| scale.counts(bin)).max().unwrap_or(1);
    for (column, bin) in bins.iter().enumerate() {
        let x = body.x + u16::try_from(column).unwrap_or(0);
        paint_column(&scale.counts(bin), largest, x, body, theme, cells);
        if bin.missed > 0 {
            line::paint(theme.symbols.hole, theme.bad(), Rect { x, y: body.y, width: 1, height: 1 }, cells);
        }
    }
    for number in (0..body.height).filter(|number| number % 3 == 0) {
        let from = scale.lower_edge(usize::from(body.height - 1 - number));
        let place = Rect { width: SCALE - 1, ..row(Rect { x: area.x, ..body }, number) };
        line::paint_right(&latency(from).to_string(), theme.dim(), place, cells);
    }
}

fn paint_column(counts: &[u64], largest: u64, x: u16, body: Rect, theme: LiveTheme, cells: &mut Buffer) {
    for (number, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let up = u16::try_from(number).unwrap_or(0);
        let place = Rect { x, y: body.bottom() - 1 - up, width: 1, height: 1 };
        line::paint(theme.symbols.shades[shade(*count, largest)], theme.picture(), place, cells);
    }
}

/// Index of the shade, by the logarithm; every non-zero count is visible.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn shade(count: u64, largest: u64) -> usize {
    let part = (count as f64).ln_1p() / (largest.max(1) as f64).ln_1p();
    ((part * 4.0) as usize).min(3)
}

/// Logarithmic latency axis; the lowest latency is in the bottom row.
struct LatencyScale {
    lowest: u64,
    highest: u64,
    rows: usize,
}

impl LatencyScale {
    fn log(nanos: u64) -> f64 {
        (nanos.max(1) as f64).log2()
    }

    fn step(&self) -> f64 {
        (Self::log(self.highest) - Self::log(self.lowest)).max(1.0)
            / self.rows.saturating_sub(1).max(1) as f64
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
    fn counts(&self, bin: &HistoryInterval) -> Vec<u64> {
        let mut counts = vec![0; self.rows];
        for (from, count) in &bin.counts {
            let row = ((Self::log(*from) - Self::log(self.lowest)) / self.step()).round() as usize;
            if let Some(total) = counts.get_mut(row.min(self.rows.saturating_sub(1))) {
                *total += count;
            }
        }
        counts
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency")]
    fn lower_edge(&self, row: usize) -> u64 {
        2_f64.powf(Self::log(self.lowest) + self.step() * row as f64) as u64
    }
}
