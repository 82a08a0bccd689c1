//! What keys do: the one table, from which the help is made as well.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
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
    EachByItself,
    Idle,
    By,
    Mark,
    Timeline,
    Help,
    End,
    EndStanding,
    Stop,
}

/// Keys that do the same.
pub(crate) struct Binding {
    pub(crate) action: Action,
    pub(crate) keys: &'static [Key],
    /// What the help says of it; neighbours of which it says the same have one line.
    pub(crate) about: &'static str,
}

/// A key as the table of keys names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Plain(KeyCode),
    Control(char),
}

use Key::{Control, Plain};
use KeyCode::Char;

const fn bound(action: Action, keys: &'static [Key], about: &'static str) -> Binding {
    Binding { action, keys, about }
}

/// All of them, as the help lists them.
pub(crate) const BINDINGS: &[Binding] = &[
    bound(Action::End, &[Plain(Char('q')), Control('c')], "end and print the result; here q closes the help"),
    bound(Action::EndStanding, &[Plain(Char('Q'))], "the same, and leave the last screen standing"),
    bound(Action::Help, &[Plain(Char('?'))], "this help"),
    bound(Action::Up, &[Plain(KeyCode::Up), Plain(Char('k'))], "one row up, down"),
    bound(Action::Down, &[Plain(KeyCode::Down), Plain(Char('j'))], "one row up, down"),
    bound(Action::PageUp, &[Plain(KeyCode::PageUp), Control('b')], "a page up, down"),
    bound(Action::PageDown, &[Plain(KeyCode::PageDown), Control('f')], "a page up, down"),
    bound(Action::First, &[Plain(KeyCode::Home), Plain(Char('g'))], "to the first row, to the last"),
    bound(Action::Last, &[Plain(KeyCode::End), Plain(Char('G'))], "to the first row, to the last"),
    bound(Action::Left, &[Plain(KeyCode::Left), Plain(Char('h'))], "to the panel before, to the next"),
    bound(Action::Right, &[Plain(KeyCode::Right), Plain(Char('l'))], "to the panel before, to the next"),
    bound(Action::NextPanel, &[Plain(KeyCode::Tab)], "to the panel before, to the next"),
    bound(Action::PreviousPanel, &[Plain(KeyCode::BackTab)], "to the panel before, to the next"),
    bound(Action::Detail, &[Plain(KeyCode::Enter)], "the selected row on the whole screen"),
    bound(Action::Back, &[Plain(KeyCode::Esc)], "back; no filter"),
    bound(Action::Expand, &[Plain(Char('e'))], "this panel on the whole screen, and back"),
    bound(Action::Filter, &[Plain(Char('/'))], "only rows that contain a text"),
    bound(Action::Sort, &[Plain(Char('s'))], "sort by the next column"),
    bound(Action::Reverse, &[Plain(Char('r'))], "reverse the order"),
    bound(Action::Freeze, &[Plain(Char('f'))], "freeze what is shown; measuring goes on"),
    bound(
        Action::ShorterWindow,
        &[Plain(Char('+')), Plain(Char('='))],
        "half of the time, twice as much, all of it",
    ),
    bound(Action::LongerWindow, &[Plain(Char('-'))], "half of the time, twice as much, all of it"),
    bound(Action::WholeWindow, &[Plain(Char('a'))], "half of the time, twice as much, all of it"),
    bound(Action::ResetMaximum, &[Plain(Char('R'))], "begin max anew beside it; the result keeps all"),
    bound(Action::EachByItself, &[Plain(Char('c'))], "each CPU in a row of its own"),
    bound(Action::By, &[Plain(Char('b'))], "rows of processes, threads, groups, culprits"),
    bound(Action::Idle, &[Plain(Char('i'))], "waits of those that have nothing to do as well"),
    bound(Action::Mark, &[Plain(Char('m'))], "mark this moment in the recording"),
    bound(Action::Timeline, &[Plain(Char('w'))], "write what all CPUs have done just now"),
    bound(Action::Stop, &[Control('z')], "stop the program; `fg` goes on"),
];

/// What a key that was pressed does.
pub(crate) fn action(pressed: &KeyEvent) -> Option<Action> {
    if pressed.kind == KeyEventKind::Release {
        return None;
    }
    let is_it = |key: &Key| match key {
        Plain(code) => {
            *code == pressed.code && !pressed.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        }
        Control(letter) => pressed.code == Char(*letter) && pressed.modifiers.contains(KeyModifiers::CONTROL),
    };
    let found = BINDINGS.iter().find(|binding| binding.keys.iter().any(is_it));
    found.map(|binding| binding.action)
}

/// Whether it is the plain `q` with which people leave a help: the run goes on. Ctrl-C ends the run there as well.
pub(crate) fn leaves_help(pressed: &KeyEvent) -> bool {
    pressed.code == Char('q') && action(pressed) == Some(Action::End)
}

/// A key as the help writes it.
pub(crate) fn name(key: Key) -> String {
    match key {
        Control(letter) => format!("Ctrl-{}", letter.to_ascii_uppercase()),
        Plain(Char(letter)) => letter.to_string(),
        Plain(KeyCode::Up) => "Up".to_owned(),
        Plain(KeyCode::Down) => "Down".to_owned(),
        Plain(KeyCode::PageUp) => "PgUp".to_owned(),
        Plain(KeyCode::PageDown) => "PgDn".to_owned(),
        Plain(KeyCode::BackTab) => "Shift-Tab".to_owned(),
        Plain(other) => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let keys: Vec<Key> = BINDINGS.iter().flat_map(|binding| binding.keys).copied().collect();
        for (number, key) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(key), "{} does two things", name(*key));
        }
    }

    #[test]
    fn each_says_what_it_does() {
        assert!(BINDINGS.iter().all(|one| !one.about.is_empty() && !one.keys.is_empty()));
    }

    #[test]
    fn keys_are_found_with_and_without_control() {
        let press = |code, modifiers| action(&KeyEvent::new(code, modifiers));
        assert_eq!(press(Char('f'), KeyModifiers::NONE), Some(Action::Freeze));
        assert_eq!(press(Char('f'), KeyModifiers::CONTROL), Some(Action::PageDown));
        assert_eq!(press(Char('G'), KeyModifiers::SHIFT), Some(Action::Last));
        assert_eq!(press(Char('c'), KeyModifiers::CONTROL), Some(Action::End));
        assert_eq!(press(Char('q'), KeyModifiers::ALT), None);
    }
}
