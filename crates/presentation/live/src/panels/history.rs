//! The usual and the largest latency along the measured time, and where periods were missed.

use howlate_model::{Latency, Span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Sparkline, Widget};

use super::line::{self, row};
use crate::screenful::{History, Moment};
use crate::theme::Theme;

/// Columns of one moment, at most.
const WIDEST: usize = 4;
/// The height of a bar is told in so many steps from the least to the most, by the logarithm.
const STEPS: u64 = 1_000;

pub(super) fn paint(
    history: &History,
    narrowed: u32,
    (title, heading): (&str, Style),
    theme: Theme,
    area: Rect,
    cells: &mut Buffer,
) {
    let moments = window(history, narrowed);
    let title_line = row(area, 0);
    let taken = line::paint(title, heading, title_line, cells);
    let about = about(moments);
    let rest = Rect { x: title_line.x + taken, width: title_line.width.saturating_sub(taken), ..title_line };
    line::paint(&about, theme.dim(), rest, cells);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let bins = bins(moments, usize::from(body.width));
    let values = || bins.iter().filter_map(|bin| bin.values);
    let (Some(least), Some(most)) =
        (values().map(|[usual, _]| usual).min(), values().map(|[_, max]| max).max())
    else {
        line::paint("  Nothing of it has been measured yet.", theme.dim(), row(body, 0), cells);
        return;
    };
    // The largest above, the usual below, each with half of the lines; a line below both for what is missing.
    let marks = u16::from(bins.iter().any(|bin| bin.missed > 0) && body.height > 2);
    let usual = (body.height - marks).div_ceil(2);
    let largest = body.height - marks - usual;
    let range = [least, most];
    let bars = |which: usize| bins.iter().map(|bin| Some(height(bin, which, range))).collect();
    let holes = bins.iter().map(|bin| (bin.missed == 0).then_some(0)).collect();
    let pictures: [(u16, Vec<Option<u64>>, Style); 3] = [
        (largest, bars(1), theme.picture_of_maxima()),
        (usual, bars(0), theme.picture()),
        (marks, holes, theme.dim()),
    ];
    let mut y = body.y;
    for (height, data, style) in pictures {
        Sparkline::default()
            .data(data)
            .max(STEPS)
            .bar_set(theme.symbols.bars.clone())
            .style(style)
            .absent_value_symbol(theme.symbols.hole)
            .absent_value_style(theme.stop())
            .render(Rect { y, height, ..body }, cells);
        y += height;
    }
}

/// The moments of the window: the last part of them, halved so many times.
pub(super) fn window(history: &History, narrowed: u32) -> &[Moment] {
    let all = history.moments.len();
    let kept = (all >> narrowed).max(1).min(all);
    &history.moments[all - kept..]
}

/// ` · 12.0 s of it · largest 7.68 ms · ╳ missed`
pub(super) fn about(moments: &[Moment]) -> String {
    let lasts = moments.iter().fold(Span::ZERO, |sum, one| sum.plus(one.lasts));
    let largest = moments.iter().filter_map(|one| one.values).map(|[_, max]| max).max();
    let missed: u64 = moments.iter().map(|one| one.missed).sum();
    let mut parts = vec![String::new(), howlate_render::numbers::rough(lasts)];
    let least = moments.iter().filter_map(|one| one.values).map(|[usual, _]| usual).min();
    let range = least.zip(largest).map(|(least, most)| format!("{} to {}", latency(least), latency(most)));
    parts.extend(range);
    if missed > 0 {
        parts.push(format!("{} missed", howlate_render::numbers::count(missed)));
    }
    parts.join(" · ")
}

pub(super) fn latency(nanos: u64) -> Latency {
    Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// As many moments as there are columns, neighbours as one where there are more: the worst of them.
pub(super) fn bins(moments: &[Moment], columns: usize) -> Vec<Moment> {
    if columns == 0 || moments.is_empty() {
        return Vec::new();
    }
    // Few of them are drawn wider, up to a fourth of all there is room for.
    let wide = (columns / moments.len()).clamp(1, WIDEST);
    let joined = moments.chunks(moments.len().div_ceil(columns)).map(joined);
    joined.flat_map(|bin| std::iter::repeat_n(bin, wide)).collect()
}

fn joined(moments: &[Moment]) -> Moment {
    let mut all = Moment::default();
    for one in moments {
        all.lasts = all.lasts.plus(one.lasts);
        all.missed += one.missed;
        all.values = match (all.values, one.values) {
            (Some([usual, max]), Some([other, more])) => Some([usual.max(other), max.max(more)]),
            (known, other) => known.or(other),
        };
        all.counts.extend_from_slice(&one.counts);
    }
    all
}

/// How high a bar is; none where nothing woke.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn height(bin: &Moment, which: usize, [least, most]: [u64; 2]) -> u64 {
    let Some(values) = bin.values else { return 0 };
    let log = |nanos: u64| (nanos.max(1) as f64).ln();
    let range = (log(most) - log(least)).max(1e-9);
    let part = ((log(values[which]) - log(least)) / range).clamp(0.0, 1.0);
    // The least is a tenth of the height: a bar that is there is seen.
    STEPS / 10 + (part * (STEPS as f64) * 0.9) as u64
}
