//! The one bar at the bottom: left what cannot change meanwhile, right what can, with its keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::line;
use crate::choices::Choices;
use crate::screenful::Screenful;
use crate::theme::Theme;

pub(super) fn paint(shown: &Screenful, choices: &Choices, theme: Theme, area: Rect, cells: &mut Buffer) {
    if choices.is_typing {
        let typed = line::paint(&format!("/{}_", legible(&choices.filter)), theme.bold(), area, cells);
        let rest = Rect { x: area.x + typed, width: area.width - typed, ..area };
        line::paint("   Enter: keep it · Esc: no filter", theme.dim(), rest, cells);
        return;
    }
    let switches = switches(shown, choices, theme);
    let taken = line::paint_right(&switches, theme.dim(), area, cells);
    let mut left = Rect { width: area.width.saturating_sub(taken + 1), ..area };
    // What has no room is left out whole: the result says it.
    for one in shown.fixed.iter().map(|one| format!("[{one}] ")) {
        if Span::raw(&one).width() > usize::from(left.width) {
            break;
        }
        let taken = line::paint(&one, theme.dim(), left, cells);
        left = Rect { x: left.x + taken, width: left.width - taken, ..left };
    }
}

fn switches(shown: &Screenful, choices: &Choices, theme: Theme) -> String {
    let switch = |is_on: bool, what: &str| format!("{} {what}", theme.symbols.switches[usize::from(!is_on)]);
    let mut parts = vec![switch(choices.is_frozen, "f freeze")];
    if shown.each_cpu {
        parts.push(switch(choices.each, "c each CPU"));
    }
    if let Some(by) = shown.by {
        parts.extend([format!("b by {by}"), switch(choices.idle, "i idle")]);
    }
    parts.extend(shown.can_mark.then(|| "m mark".to_owned()));
    parts.extend(shown.can_write_timelines.then(|| "w timeline".to_owned()));
    parts.push(match choices.filter.is_empty() {
        true => "/ filter".to_owned(),
        false => format!("/{}", cut(&legible(&choices.filter))),
    });
    parts.extend(["? keys", "q end"].map(str::to_owned));
    parts.join("  ")
}

/// Switches are seen beside it.
fn cut(filter: &str) -> String {
    const MOST: usize = 16;
    match filter.chars().count() > MOST {
        true => filter.chars().take(MOST - 1).chain(['…']).collect(),
        false => filter.to_owned(),
    }
}

fn legible(text: &str) -> std::borrow::Cow<'_, str> {
    howlate_render::legible(text)
}
