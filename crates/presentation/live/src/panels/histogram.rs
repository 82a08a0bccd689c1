//! Histogram of wake-ups by latency; both axes are logarithmic, so that one in a million is visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::history::latency;
use super::line::{self, row};
use crate::screenful::{LatencyBucket, LatencyHistogram};
use crate::theme::LiveTheme;

/// Steps of a bar per line: block characters come in eighths.
const EIGHTHS: u64 = 8;
/// Lower end of the axis in ns: no wake-up is faster. Missed periods can have a latency of 0.
const FINEST: u64 = 100;

pub(super) fn paint(
    histogram: &LatencyHistogram,
    (title, heading): (&str, Style),
    theme: LiveTheme,
    area: Rect,
    cells: &mut Buffer,
) {
    line::paint(title, heading, row(area, 0), cells);
    let (Some(first), Some(last)) = (histogram.buckets.first(), histogram.buckets.last()) else { return };
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    let columns = columns(&histogram.buckets, usize::from(body.width));
    let largest_count = columns.iter().copied().max().unwrap_or(0);
    for (column, count) in columns.iter().enumerate() {
        let x = body.x + u16::try_from(column).unwrap_or(0);
        bar(height(*count, largest_count, body.height), x, body, theme, cells);
    }
    let axis = row(area, area.height.saturating_sub(1));
    let largest = latency(last.until).to_string();
    let used = line::paint_right(&largest, theme.dim(), axis, cells);
    let free = Rect { width: axis.width.saturating_sub(used + 1), ..axis };
    line::paint(&latency(first.from.max(FINEST)).to_string(), theme.dim(), free, cells);
}

/// Counts per column of a logarithmic axis. A bucket counts entirely in the column of its lower edge.
fn columns(buckets: &[LatencyBucket], width: usize) -> Vec<u64> {
    let mut columns = vec![0; width];
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { return columns };
    let log = |nanos: u64| (nanos.max(FINEST) as f64).log2();
    let (from, range) = (log(first.from), (log(last.until) - log(first.from)).max(1e-9));
    for bucket in buckets {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
        let place = ((log(bucket.from) - from) / range * width as f64) as usize;
        if let Some(column) = columns.get_mut(place.min(width.saturating_sub(1))) {
            *column += bucket.count;
        }
    }
    columns
}

/// Height of a bar in eighths of a line, by the logarithm of the count. Non-zero counts have one eighth at least.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn height(count: u64, largest: u64, lines: u16) -> u64 {
    if count == 0 {
        return 0;
    }
    let full_height = u64::from(lines) * EIGHTHS;
    let part = (count as f64).ln_1p() / (largest.max(1) as f64).ln_1p();
    ((part * full_height as f64) as u64).clamp(1, full_height.max(1))
}

fn bar(mut eighths: u64, x: u16, body: Rect, theme: LiveTheme, cells: &mut Buffer) {
    let bars = &theme.symbols.bars;
    let partial = [
        bars.empty,
        bars.one_eighth,
        bars.one_quarter,
        bars.three_eighths,
        bars.half,
        bars.five_eighths,
        bars.three_quarters,
        bars.seven_eighths,
    ];
    for y in (body.y..body.bottom()).rev() {
        if eighths == 0 {
            return;
        }
        let symbol =
            if eighths >= EIGHTHS { bars.full } else { partial[usize::try_from(eighths).unwrap_or(0)] };
        line::paint(symbol, theme.picture(), Rect { x, y, width: 1, height: 1 }, cells);
        eighths = eighths.saturating_sub(EIGHTHS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bucket_that_is_not_empty_is_hidden() {
        let bucket = |from: u64, count: u64| LatencyBucket { from, until: from + from / 8, count };
        let buckets = [bucket(0, 1), bucket(60_000, 10_000_000), bucket(1 << 40, 1)];
        for (width, apart) in [(1, 1), (2, 2), (20, 3), (200, 3)] {
            let columns = columns(&buckets, width);
            assert_eq!(columns.iter().sum::<u64>(), 10_000_002);
            let largest = *columns.iter().max().unwrap();
            let seen = columns.iter().filter(|count| height(**count, largest, 4) > 0).count();
            assert_eq!(seen, apart, "{width}: {columns:?}");
        }
    }

    #[test]
    fn the_most_is_as_high_as_there_is_room() {
        assert_eq!([height(0, 5, 4), height(1, 1 << 40, 4), height(5, 5, 4)], [0, 1, 32]);
    }
}
