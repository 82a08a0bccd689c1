//! Key bindings: one table, which the help also lists.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyAction {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    NextPanel,
    PreviousPanel,
    Detail,
    Back,
    Expand,
    Filter,
    Sort,
    Reverse,
    Freeze,
    ShorterWindow,
    LongerWindow,
    WholeWindow,
    ResetMaximum,
    EachCpu,
    Idle,
    GroupBy,
    Mark,
    Timeline,
    Help,
    Quit,
    QuitKeepingScreen,
    Suspend,
}

/// Keys with one action.
pub(crate) struct Binding {
    pub(crate) action: KeyAction,
    pub(crate) keys: &'static [BoundKey],
    /// Its line in the help; neighbouring bindings with one text share a line.
    pub(crate) about: &'static str,
}

/// A key of the bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundKey {
    Plain(KeyCode),
    Control(char),
}

use BoundKey::{Control, Plain};
use KeyCode::Char;

const fn binding(action: KeyAction, keys: &'static [BoundKey], about: &'static str) -> Binding {
    Binding { action, keys, about }
}

/// In the order of the help.
pub(crate) const BINDINGS: &[Binding] = &[
    binding(
        KeyAction::Quit,
        &[Plain(Char('q')), Control('c')],
        "end and print the result; here q closes the help",
    ),
    binding(KeyAction::QuitKeepingScreen, &[Plain(Char('Q'))], "the same, but keep the last screen visible"),
    binding(KeyAction::Help, &[Plain(Char('?'))], "this help"),
    binding(KeyAction::Up, &[Plain(KeyCode::Up), Plain(Char('k'))], "one row up, down"),
    binding(KeyAction::Down, &[Plain(KeyCode::Down), Plain(Char('j'))], "one row up, down"),
    binding(KeyAction::PageUp, &[Plain(KeyCode::PageUp), Control('b')], "a page up, down"),
    binding(KeyAction::PageDown, &[Plain(KeyCode::PageDown), Control('f')], "a page up, down"),
    binding(KeyAction::First, &[Plain(KeyCode::Home), Plain(Char('g'))], "to the first row, to the last"),
    binding(KeyAction::Last, &[Plain(KeyCode::End), Plain(Char('G'))], "to the first row, to the last"),
    binding(KeyAction::Left, &[Plain(KeyCode::Left), Plain(Char('h'))], "to the panel before, to the next"),
    binding(KeyAction::Right, &[Plain(KeyCode::Right), Plain(Char('l'))], "to the panel before, to the next"),
    binding(KeyAction::NextPanel, &[Plain(KeyCode::Tab)], "to the panel before, to the next"),
    binding(KeyAction::PreviousPanel, &[Plain(KeyCode::BackTab)], "to the panel before, to the next"),
    binding(KeyAction::Detail, &[Plain(KeyCode::Enter)], "the selected row on the whole screen"),
    binding(KeyAction::Back, &[Plain(KeyCode::Esc)], "back; no filter"),
    binding(KeyAction::Expand, &[Plain(Char('e'))], "this panel on the whole screen, and back"),
    binding(KeyAction::Filter, &[Plain(Char('/'))], "only rows that contain a text"),
    binding(KeyAction::Sort, &[Plain(Char('s'))], "sort by the next column"),
    binding(KeyAction::Reverse, &[Plain(Char('r'))], "reverse the order"),
    binding(KeyAction::Freeze, &[Plain(Char('f'))], "freeze what is shown; measuring goes on"),
    binding(
        KeyAction::ShorterWindow,
        &[Plain(Char('+')), Plain(Char('='))],
        "halve the time span, double it, show all",
    ),
    binding(KeyAction::LongerWindow, &[Plain(Char('-'))], "halve the time span, double it, show all"),
    binding(KeyAction::WholeWindow, &[Plain(Char('a'))], "halve the time span, double it, show all"),
    binding(KeyAction::ResetMaximum, &[Plain(Char('R'))], "start a new max beside it; the result keeps all"),
    binding(KeyAction::EachCpu, &[Plain(Char('c'))], "each CPU in a row of its own"),
    binding(KeyAction::GroupBy, &[Plain(Char('b'))], "rows of processes, threads, groups, culprits"),
    binding(KeyAction::Idle, &[Plain(Char('i'))], "also waits of sleeping and idle threads"),
    binding(KeyAction::Mark, &[Plain(Char('m'))], "mark this moment in the recording"),
    binding(KeyAction::Timeline, &[Plain(Char('w'))], "save what all CPUs just did"),
    binding(KeyAction::Suspend, &[Control('z')], "suspend howlate; `fg` resumes"),
];

/// Action of a pressed key.
pub(crate) fn key_action(event: &KeyEvent) -> Option<KeyAction> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let matches = |key: &BoundKey| match key {
        Plain(code) => {
            *code == event.code && !event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        }
        Control(letter) => event.code == Char(*letter) && event.modifiers.contains(KeyModifiers::CONTROL),
    };
    let binding = BINDINGS.iter().find(|binding| binding.keys.iter().any(matches));
    binding.map(|binding| binding.action)
}

/// Whether this is the plain `q`, which closes the help without ending the run. Ctrl-C ends the run there too.
pub(crate) fn leaves_help(event: &KeyEvent) -> bool {
    event.code == Char('q') && key_action(event) == Some(KeyAction::Quit)
}

/// Name of a key in the help.
pub(crate) fn key_name(key: BoundKey) -> String {
    match key {
        Control(letter) => format!("Ctrl-{}", letter.to_ascii_uppercase()),
        Plain(Char(letter)) => letter.to_string(),
        Plain(KeyCode::Up) => "Up".to_owned(),
        Plain(KeyCode::Down) => "Down".to_owned(),
        Plain(KeyCode::PageUp) => "PgUp".to_owned(),
        Plain(KeyCode::PageDown) => "PgDn".to_owned(),
        Plain(KeyCode::BackTab) => "Shift-Tab".to_owned(),
        Plain(code) => format!("{code:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let keys: Vec<BoundKey> = BINDINGS.iter().flat_map(|binding| binding.keys).copied().collect();
        for (number, key) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(key), "{} does two things", key_name(*key));
        }
    }

    #[test]
    fn each_says_what_it_does() {
        assert!(BINDINGS.iter().all(|binding| !binding.about.is_empty() && !binding.keys.is_empty()));
    }

    #[test]
    fn keys_are_found_with_and_without_control() {
        let press = |code, modifiers| key_action(&KeyEvent::new(code, modifiers));
        assert_eq!(press(Char('f'), KeyModifiers::NONE), Some(KeyAction::Freeze));
        assert_eq!(press(Char('f'), KeyModifiers::CONTROL), Some(KeyAction::PageDown));
        assert_eq!(press(Char('G'), KeyModifiers::SHIFT), Some(KeyAction::Last));
        assert_eq!(press(Char('c'), KeyModifiers::CONTROL), Some(KeyAction::Quit));
        assert_eq!(press(Char('q'), KeyModifiers::ALT), None);
    }
}
