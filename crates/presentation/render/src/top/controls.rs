//! Keys of the live table: what each does, and the line that lists them.

use howlate_analyse::waits::WaitOrder;

use super::{TopBy, TopView};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, paint};
use crate::untrusted_text::legible;

/// Effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// The screen stays as it is.
    Unchanged,
    /// The screen changes.
    Changed,
    /// The program ends.
    Quit,
}

/// State of the keyboard input.
#[derive(Debug, Default)]
pub struct TopControls {
    /// A filter is being typed.
    pub is_typing: bool,
}

const ESCAPE: char = '\u{1b}';
const BACKSPACE: [char; 2] = ['\u{8}', '\u{7f}'];

impl TopControls {
    /// Handles what was read from the terminal at once. Keys that send escape sequences have no function.
    pub fn press(&mut self, keys: &str, view: &mut TopView) -> KeyEffect {
        if keys.len() > 1 && keys.starts_with(ESCAPE) {
            return KeyEffect::Unchanged;
        }
        let mut effect = KeyEffect::Unchanged;
        for key in keys.chars() {
            match if self.is_typing { self.edit_filter(key, view) } else { self.choose(key, view) } {
                KeyEffect::Quit => return KeyEffect::Quit,
                KeyEffect::Changed => effect = KeyEffect::Changed,
                KeyEffect::Unchanged => {}
            }
        }
        effect
    }

    fn choose(&mut self, key: char, view: &mut TopView) -> KeyEffect {
        match key {
            'q' | 'Q' => return KeyEffect::Quit,
            'H' => view.by = if view.by == TopBy::Thread { TopBy::Process } else { TopBy::Thread },
            '/' => self.is_typing = true,
            ESCAPE => view.filter.clear(),
            _ => match ORDERS.iter().find(|(order_key, ..)| *order_key == key) {
                Some((_, _, order)) => view.order = *order,
                None => return KeyEffect::Unchanged,
            },
        }
        KeyEffect::Changed
    }

    fn edit_filter(&mut self, key: char, view: &mut TopView) -> KeyEffect {
        match key {
            '\n' | '\r' => self.is_typing = false,
            ESCAPE => {
                self.is_typing = false;
                view.filter.clear();
            }
            _ if BACKSPACE.contains(&key) => drop(view.filter.pop()),
            _ if key.is_control() => return KeyEffect::Unchanged,
            _ => view.filter.push(key),
        }
        KeyEffect::Changed
    }
}

/// The orders with their keys, each a letter of the order's name.
pub const ORDERS: [(char, &str, WaitOrder); 5] = [
    ('h', "held up", WaitOrder::HeldUp),
    ('t', "time", WaitOrder::Time),
    ('c', "count", WaitOrder::Count),
    ('m', "mean", WaitOrder::Mean),
    ('x', "max", WaitOrder::Longest),
];

impl TopView {
    /// The line of keys, active choices in bold. `typing`: a filter is being edited.
    pub fn keys(&self, typing: bool, width: usize) -> String {
        if typing {
            let filter = legible(&self.filter);
            return format!("/{filter}_  {}", paint(DIM, "Enter: keep it   Esc: none"));
        }
        let order = |(key, name, order): &(char, &str, WaitOrder)| {
            label(*order == self.order, &format!("{key} {name}"))
        };
        let orders: Vec<String> = ORDERS.iter().map(order).collect();
        let filter =
            if self.filter.is_empty() { String::new() } else { format!(" {}", legible(&self.filter)) };
        let rest = [
            label(self.by == TopBy::Thread, "H threads"),
            label(!self.filter.is_empty(), &format!("/ filter{filter}")),
            label(false, "q end"),
        ];
        wrapped(&format!("{}{}{}", orders.join(GAP), "  ·  ", rest.join(GAP)), width, 0)
    }
}

const GAP: &str = "  ";

/// A key with its function, kept on one line.
fn label(is_active: bool, text: &str) -> String {
    let text = text.replace(' ', "\u{a0}");
    if is_active { paint(BOLD, text) } else { paint(DIM, text) }
}

#[cfg(test)]
mod tests {
    use howlate_analyse::waits::WaitOrder;

    use super::*;

    #[test]
    fn keys_choose_an_order_and_a_filter() {
        let (mut controls, mut view) = (TopControls::default(), TopView::default());
        let mut press = |keys: &str| {
            let effect = controls.press(keys, &mut view);
            (effect, view.order, view.filter.clone())
        };
        let held_up = WaitOrder::HeldUp;
        assert_eq!(press("z"), (KeyEffect::Unchanged, held_up, String::new()));
        assert_eq!(
            press("\u{1b}[A"),
            (KeyEffect::Unchanged, held_up, String::new()),
            "an arrow is no letter"
        );
        assert_eq!(press("m"), (KeyEffect::Changed, WaitOrder::Mean, String::new()));
        assert_eq!(
            press("/Sqx\u{7f}µ"),
            (KeyEffect::Changed, WaitOrder::Mean, "Sqµ".into()),
            "q is a letter of it"
        );
        assert_eq!(press("\nx"), (KeyEffect::Changed, WaitOrder::Longest, "Sqµ".into()));
        assert_eq!(press("/b"), (KeyEffect::Changed, WaitOrder::Longest, "Sqµb".into()), "it is typed on");
        assert_eq!(press("\u{1b}"), (KeyEffect::Changed, WaitOrder::Longest, String::new()));
        assert_eq!(press("hq").0, KeyEffect::Quit);
        assert_eq!((view.order, view.by), (held_up, TopBy::Process));
        controls.press("H", &mut view);
        assert_eq!(view.by, TopBy::Thread);
    }
}
