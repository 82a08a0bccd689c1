//! The bottom line: on the left the settings, on the right the switches with their keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::line;
use crate::choices::Choices;
use crate::screenful::Screenful;
use crate::theme::LiveTheme;

pub(super) fn paint(screen: &Screenful, choices: &Choices, theme: LiveTheme, area: Rect, cells: &mut Buffer) {
    if choices.is_typing {
        let used = line::paint(&format!("/{}_", legible(&choices.filter)), theme.bold(), area, cells);
        let rest = Rect { x: area.x + used, width: area.width - used, ..area };
        line::paint("   Enter: keep it · Esc: no filter", theme.dim(), rest, cells);
        return;
    }
    let switches = switches(screen, choices, theme);
    let used = line::paint_right(&switches, theme.dim(), area, cells);
    let mut free = Rect { width: area.width.saturating_sub(used + 1), ..area };
    // Settings that do not fit are omitted; the result has them all.
    for setting in screen.fixed.iter().map(|setting| format!("[{setting}] ")) {
        if Span::raw(&setting).width() > usize::from(free.width) {
            break;
        }
        let used = line::paint(&setting, theme.dim(), free, cells);
        free = Rect { x: free.x + used, width: free.width - used, ..free };
    }
}

fn switches(screen: &Screenful, choices: &Choices, theme: LiveTheme) -> String {
    let switch =
        |is_on: bool, label: &str| format!("{} {label}", theme.symbols.switches[usize::from(!is_on)]);
    let mut parts = vec![switch(choices.is_frozen, "f freeze")];
    if screen.each_cpu {
        parts.push(switch(choices.each_cpu, "c each CPU"));
    }
    if let Some(group_by) = screen.group_by {
        parts.extend([format!("b by {group_by}"), switch(choices.idle, "i idle")]);
    }
    parts.extend(screen.can_mark.then(|| "m mark".to_owned()));
    parts.extend(screen.can_write_timelines.then(|| "w timeline".to_owned()));
    parts.push(match choices.filter.is_empty() {
        true => "/ filter".to_owned(),
        false => format!("/{}", shorten(&legible(&choices.filter))),
    });
    parts.extend(["? keys", "q end"].map(str::to_owned));
    parts.join("  ")
}

/// Leaves room for the switches.
fn shorten(filter: &str) -> String {
    const MAX_LENGTH: usize = 16;
    match filter.chars().count() > MAX_LENGTH {
        true => filter.chars().take(MAX_LENGTH - 1).chain(['…']).collect(),
        false => filter.to_owned(),
    }
}

fn legible(text: &str) -> std::borrow::Cow<'_, str> {
    howlate_render::legible(text)
}
