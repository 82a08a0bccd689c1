//! What this is, on which machine, how far it is, and what makes its numbers doubtful.

use howlate_model::Span;
use howlate_render::{most_left, time_left};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{self, row};
use crate::screenful::{Progress, Screenful};
use crate::theme::Theme;

/// Columns of the bar.
const BAR: usize = 16;

/// Lines that it takes.
pub(super) fn height(shown: &Screenful) -> u16 {
    2 + u16::from(!shown.doubts.is_empty())
}

pub(super) fn paint(shown: &Screenful, theme: Theme, area: Rect, cells: &mut Buffer) {
    let first = row(area, 0);
    let title = line::paint(&shown.title, theme.bold(), first, cells);
    let rest = Rect { x: first.x + title + 1, width: first.width.saturating_sub(title + 1), ..first };
    let doing = match &shown.progress {
        Some(progress) => {
            let bar = line::paint(&bar(progress, theme), theme.picture(), rest, cells);
            let left = if progress.is_most { most_left } else { time_left };
            let doing = format!("{} · {}", left(progress.left), shown.doing);
            (doing, Rect { x: rest.x + bar + 1, width: rest.width.saturating_sub(bar + 1), ..rest })
        }
        None if shown.doing.is_empty() => (String::new(), rest),
        None => (format!("· {}", shown.doing), rest),
    };
    line::paint(doing.0.trim_end_matches(" · "), theme.dim(), doing.1, cells);
    line::paint(&shown.machine, theme.dim(), row(area, 1), cells);
    let doubts = match shown.doubts.as_slice() {
        [] => return,
        [only] => format!("! {only}"),
        [first, more @ ..] => format!("! (1 of {}) {first}", more.len() + 1),
    };
    line::paint(&doubts, theme.warn(), row(area, 2), cells);
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn bar(progress: &Progress, theme: Theme) -> String {
    let share = |span: Span| span.as_secs_f64() / progress.whole.as_secs_f64().max(1e-9);
    let done = ((1.0 - share(progress.left)).clamp(0.0, 1.0) * BAR as f64) as usize;
    let [full, rest] = theme.symbols.progress;
    format!("{}{}", full.repeat(done), rest.repeat(BAR - done))
}
