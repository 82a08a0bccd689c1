//! The help: key bindings and the meaning of columns.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::line::{self, row};
use crate::choices::Choices;
use crate::keys::{BINDINGS, KeyAction, key_name};
use crate::screenful::Screenful;
use crate::theme::LiveTheme;

/// Width of the key names.
const KEYS: u16 = 30;
/// Width of one column of bindings.
const COLUMN: u16 = 80;

pub(super) fn paint(screen: &Screenful, choices: &Choices, theme: LiveTheme, area: Rect, cells: &mut Buffer) {
    let all = lines(screen);
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
        // Headings of lists have no explanation.
        if about.is_empty() {
            line::paint(keys, theme.heading(), place, cells);
        }
        let about_at = Rect { x: place.x + KEYS, width: place.width.saturating_sub(KEYS), ..place };
        line::paint(about, ratatui::style::Style::new(), about_at, cells);
    }
}

/// Key bindings and the meaning of columns, as (left, right) texts.
fn lines(screen: &Screenful) -> Vec<(String, &'static str)> {
    let mut lines: Vec<(String, &str)> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| applies_to(binding.action, screen)) {
        let keys = binding.keys.iter().map(|key| key_name(*key)).collect::<Vec<_>>().join(" ");
        match lines.last_mut().filter(|(_, about)| *about == binding.about) {
            Some((previous_keys, _)) => *previous_keys = format!("{previous_keys} {keys}"),
            None => lines.push((keys, binding.about)),
        }
    }
    lines.push(("mouse".to_owned(), "selects and scrolls; with Shift it marks text"));
    let legend = screen.legend.iter().map(|[heading, about]| ((*heading).to_owned(), *about));
    let heading = (!screen.legend.is_empty()).then(|| ("Columns".to_owned(), ""));
    lines.into_iter().chain(heading).chain(legend).collect()
}

/// Whether the screen has a use for the action.
fn applies_to(action: KeyAction, screen: &Screenful) -> bool {
    match action {
        KeyAction::EachCpu => screen.each_cpu,
        KeyAction::ResetMaximum => screen.can_reset,
        KeyAction::GroupBy | KeyAction::Idle => screen.group_by.is_some(),
        KeyAction::Mark => screen.can_mark,
        KeyAction::Timeline => screen.can_write_timelines,
        _ => true,
    }
}
