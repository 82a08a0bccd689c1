//! Typical and largest latency over the measured time, with holes for missed periods.

use howlate_model::{Latency, Span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Sparkline, Widget};

use super::line::{self, row};
use crate::screenful::{HistoryInterval, LatencyHistory};
use crate::theme::LiveTheme;

/// Greatest width of one interval.
const WIDEST: usize = 4;
/// Resolution of the logarithmic height of a bar.
const BAR_STEPS: u64 = 1_000;

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
    let description = describe_window(intervals);
    let rest = Rect { x: title_line.x + used, width: title_line.width.saturating_sub(used), ..title_line };
    line::paint(&description, theme.dim(), rest, cells);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let bins = merge_to_columns(intervals, usize::from(body.width));
    let values = || bins.iter().filter_map(|bin| bin.values);
    let (Some(lowest), Some(highest)) =
        (values().map(|[typical, _]| typical).min(), values().map(|[_, max]| max).max())
    else {
        line::paint("  Nothing measured yet.", theme.dim(), row(body, 0), cells);
        return;
    };
    // Maxima above, typical values below, half of the lines each; the last line marks missed periods.
    let hole_lines = u16::from(bins.iter().any(|bin| bin.missed > 0) && body.height > 2);
    let typical = (body.height - hole_lines).div_ceil(2);
    let maxima = body.height - hole_lines - typical;
    let range = [lowest, highest];
    let bars = |index: usize| bins.iter().map(|bin| Some(height(bin, index, range))).collect();
    let holes = bins.iter().map(|bin| (bin.missed == 0).then_some(0)).collect();
    let pictures: [(u16, Vec<Option<u64>>, Style); 3] = [
        (maxima, bars(1), theme.picture_of_maxima()),
        (typical, bars(0), theme.picture()),
        (hole_lines, holes, theme.dim()),
    ];
    let mut y = body.y;
    for (height, data, style) in pictures {
        Sparkline::default()
            .data(data)
            .max(BAR_STEPS)
            .bar_set(theme.symbols.bars.clone())
            .style(style)
            .absent_value_symbol(theme.symbols.hole)
            .absent_value_style(theme.bad())
            .render(Rect { y, height, ..body }, cells);
        y += height;
    }
}

/// The newest intervals: their number halved `narrowed` times.
pub(super) fn window(history: &LatencyHistory, narrowed: u32) -> &[HistoryInterval] {
    let total = history.intervals.len();
    let count = (total >> narrowed).max(1).min(total);
    &history.intervals[total - count..]
}

/// ` · 12.0 s of it · largest 7.68 ms · ╳ missed`
pub(super) fn describe_window(intervals: &[HistoryInterval]) -> String {
    let length = intervals.iter().fold(Span::ZERO, |sum, interval| sum.plus(interval.length));
    let largest = intervals.iter().filter_map(|interval| interval.values).map(|[_, max]| max).max();
    let missed: u64 = intervals.iter().map(|interval| interval.missed).sum();
    let mut parts = vec![String::new(), howlate_render::numbers::rough(length)];
    let lowest = intervals.iter().filter_map(|interval| interval.values).map(|[typical, _]| typical).min();
    let range =
        lowest.zip(largest).map(|(lowest, highest)| format!("{} to {}", latency(lowest), latency(highest)));
    parts.extend(range);
    if missed > 0 {
        parts.push(format!("{} missed", howlate_render::numbers::count(missed)));
    }
    parts.join(" · ")
}

pub(super) fn latency(nanos: u64) -> Latency {
    Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// At most `columns` intervals: neighbours are merged where there are more, and few intervals are repeated to be wider.
pub(super) fn merge_to_columns(intervals: &[HistoryInterval], columns: usize) -> Vec<HistoryInterval> {
    if columns == 0 || intervals.is_empty() {
        return Vec::new();
    }
    // Up to a quarter of the space.
    let width = (columns / intervals.len()).clamp(1, WIDEST);
    let merged = intervals.chunks(intervals.len().div_ceil(columns)).map(merge);
    merged.flat_map(|bin| std::iter::repeat_n(bin, width)).collect()
}

fn merge(intervals: &[HistoryInterval]) -> HistoryInterval {
    let mut merged = HistoryInterval::default();
    for interval in intervals {
        merged.length = merged.length.plus(interval.length);
        merged.missed += interval.missed;
        merged.values = match (merged.values, interval.values) {
            (Some([typical, max]), Some([next, next_max])) => Some([typical.max(next), max.max(next_max)]),
            (values, next) => values.or(next),
        };
        merged.counts.extend_from_slice(&interval.counts);
    }
    merged
}

/// Height of a bar in `BAR_STEPS`; 0 where nothing was measured.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn height(bin: &HistoryInterval, index: usize, [lowest, highest]: [u64; 2]) -> u64 {
    let Some(values) = bin.values else { return 0 };
    let log = |nanos: u64| (nanos.max(1) as f64).ln();
    let range = (log(highest) - log(lowest)).max(1e-9);
    let part = ((log(values[index]) - log(lowest)) / range).clamp(0.0, 1.0);
    // The lowest value has a tenth of the height, so that its bar is visible.
    BAR_STEPS / 10 + (part * (BAR_STEPS as f64) * 0.9) as u64
}
