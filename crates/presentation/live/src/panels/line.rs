//! One line of text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

/// Paints `text` in the first line of `area`, with `…` where it does not fit; returns the number of columns used.
pub(super) fn paint(text: &str, style: Style, area: Rect, cells: &mut Buffer) -> u16 {
    let area = area.intersection(cells.area);
    if area.is_empty() {
        return 0;
    }
    let fits = fits(text, area.width);
    let room = usize::from(if fits { area.width } else { area.width - 1 });
    let (mut end, _) = cells.set_stringn(area.x, area.y, text, room, style);
    if !fits {
        end = cells.set_stringn(end, area.y, "…", 1, style).0;
    }
    end - area.x
}

/// Whether `width` columns are enough for the whole text.
pub(super) fn fits(text: &str, width: u16) -> bool {
    Span::raw(text).width() <= usize::from(width)
}

/// As `paint`, at the right end of `area`.
pub(super) fn paint_right(text: &str, style: Style, area: Rect, cells: &mut Buffer) -> u16 {
    let width = u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX).min(area.width);
    paint(text, style, Rect { x: area.right() - width, width, ..area }, cells)
}

/// Line `number` of an area; empty beyond its end.
pub(super) fn row(area: Rect, number: u16) -> Rect {
    if number < area.height { Rect { y: area.y + number, height: 1, ..area } } else { Rect::ZERO }
}
