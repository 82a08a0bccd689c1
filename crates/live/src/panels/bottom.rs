//! The one bar at the bottom: left what cannot change meanwhile, right what can, with its keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

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
    let switches = switches(choices, theme);
    let taken = line::paint_right(&switches, theme.dim(), area, cells);
    let fixed: Vec<String> = shown.fixed.iter().map(|one| format!("[{one}]")).collect();
    let left = Rect { width: area.width.saturating_sub(taken + 1), ..area };
    line::paint(&fixed.join(" "), theme.dim(), left, cells);
}

fn switches(choices: &Choices, theme: Theme) -> String {
    let switch = |is_on: bool, what: &str| format!("{} {what}", theme.symbols.switches[usize::from(!is_on)]);
    let mut parts = vec![switch(choices.is_frozen, "f freeze"), switch(choices.each, "c each CPU")];
    parts.push(match choices.filter.is_empty() {
        true => "/ filter".to_owned(),
        false => format!("/{}", legible(&choices.filter)),
    });
    parts.extend(["? keys", "q end"].map(str::to_owned));
    parts.join("  ")
}

fn legible(text: &str) -> std::borrow::Cow<'_, str> {
    howlate_render::legible(text)
}
