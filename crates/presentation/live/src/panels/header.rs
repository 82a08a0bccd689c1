//! The header: command, progress, machine, and doubts about the numbers.

use howlate_model::Span;
use howlate_render::{most_left, time_left};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{self, row};
use crate::screenful::{RunProgress, Screenful};
use crate::theme::LiveTheme;

/// Width of the progress bar.
const BAR: usize = 16;

pub(super) fn height(screen: &Screenful) -> u16 {
    2 + u16::from(!screen.doubts.is_empty())
}

pub(super) fn paint(screen: &Screenful, theme: LiveTheme, area: Rect, cells: &mut Buffer) {
    let first = row(area, 0);
    let title = line::paint(&screen.title, theme.bold(), first, cells);
    let rest = Rect { x: first.x + title + 1, width: first.width.saturating_sub(title + 1), ..first };
    let doing = match &screen.progress {
        Some(progress) => {
            let bar = line::paint(&bar(progress, theme), theme.picture(), rest, cells);
            let format_time = if progress.is_upper_bound { most_left } else { time_left };
            let doing = format!("{} · {}", format_time(progress.remaining), screen.doing);
            (doing, Rect { x: rest.x + bar + 1, width: rest.width.saturating_sub(bar + 1), ..rest })
        }
        None if screen.doing.is_empty() => (String::new(), rest),
        None => (format!("· {}", screen.doing), rest),
    };
    line::paint(doing.0.trim_end_matches(" · "), theme.dim(), doing.1, cells);
    line::paint(&screen.machine, theme.dim(), row(area, 1), cells);
    let text = match screen.doubts.as_slice() {
        [] => return,
        [only] => format!("! {only}"),
        [first, more @ ..] => format!("! (1 of {}) {first}", more.len() + 1),
    };
    line::paint(&text, theme.warn(), row(area, 2), cells);
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn bar(progress: &RunProgress, theme: LiveTheme) -> String {
    let share = |span: Span| span.as_secs_f64() / progress.total.as_secs_f64().max(1e-9);
    let done = ((1.0 - share(progress.remaining)).clamp(0.0, 1.0) * BAR as f64) as usize;
    let [full, rest] = theme.symbols.progress;
    format!("{}{}", full.repeat(done), rest.repeat(BAR - done))
}
