//! The keys, from their table, and what the columns mean.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{self, row};
use crate::choices::Choices;
use crate::keys::{Action, BINDINGS, name};
use crate::screenful::Screenful;
use crate::theme::Theme;

/// Columns of the keys.
const KEYS: u16 = 30;
/// What stands in a column of them.
const COLUMN: u16 = 80;

pub(super) fn paint(shown: &Screenful, choices: &Choices, theme: Theme, area: Rect, cells: &mut Buffer) {
    let all = lines(shown);
    let rows = usize::from(area.height.saturating_sub(1)).max(1);
    let columns = usize::from((area.width / COLUMN).max(1));
    let above = choices.help_above.min(all.len().saturating_sub(rows * columns));
    let title = match all.len() > rows * columns {
        true => {
            format!("Keys · {} to {} of {}; Down shows more", above + 1, above + rows * columns, all.len())
        }
        false => "Keys".to_owned(),
    };
    line::paint(&title, theme.heading_in_focus(), area, cells);
    for (number, (keys, about)) in all.iter().skip(above).take(rows * columns).enumerate() {
        let (column, line_number) = (number / rows, number % rows);
        let x = area.x + u16::try_from(column).unwrap_or(0) * COLUMN;
        let line_number = u16::try_from(line_number).unwrap_or(0) + 1;
        let place = Rect { x, width: (area.right() - x).min(COLUMN), ..row(area, line_number) };
        line::paint(keys, theme.bold(), Rect { width: KEYS.min(place.width), ..place }, cells);
        // What stands above a list of its own.
        if about.is_empty() {
            line::paint(keys, theme.heading(), place, cells);
        }
        let about_at = Rect { x: place.x + KEYS, width: place.width.saturating_sub(KEYS), ..place };
        line::paint(about, ratatui::style::Style::new(), about_at, cells);
    }
}

/// Keys and what they do, and below them what columns mean.
fn lines(shown: &Screenful) -> Vec<(String, &'static str)> {
    let mut lines: Vec<(String, &str)> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| is_for(binding.action, shown)) {
        let keys = binding.keys.iter().map(|key| name(*key)).collect::<Vec<_>>().join(" ");
        match lines.last_mut().filter(|(_, about)| *about == binding.about) {
            Some((known, _)) => *known = format!("{known} {keys}"),
            None => lines.push((keys, binding.about)),
        }
    }
    lines.push(("mouse".to_owned(), "selects and scrolls; with Shift it marks text"));
    let legend = shown.legend.iter().map(|[heading, about]| ((*heading).to_owned(), *about));
    let between = (!shown.legend.is_empty()).then(|| ("Columns".to_owned(), ""));
    lines.into_iter().chain(between).chain(legend).collect()
}

/// Whether a screen has a use for it.
fn is_for(action: Action, shown: &Screenful) -> bool {
    match action {
        Action::EachByItself => shown.each_cpu,
        Action::ResetMaximum => shown.can_reset,
        Action::By | Action::Idle => shown.by.is_some(),
        Action::Mark => shown.can_mark,
        Action::Timeline => shown.can_write_timelines,
        _ => true,
    }
}
