//! What keys do to a live table.

use super::keys::ORDERS;
use super::{TopBy, TopView};

/// What a key came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// To nothing that shows.
    Nothing,
    /// Something else is to be shown.
    Otherwise,
    /// It is enough.
    End,
}

/// What is chosen by keys, as they are pressed.
#[derive(Debug, Default)]
pub struct Controls {
    /// A filter is being typed.
    pub is_typing: bool,
}

const ESCAPE: char = '\u{1b}';
const BACKSPACE: [char; 2] = ['\u{8}', '\u{7f}'];

impl Controls {
    /// Takes what came from the terminal at once: a key that sends several letters is none of these.
    pub fn press(&mut self, keys: &str, view: &mut TopView) -> Pressed {
        if keys.len() > 1 && keys.starts_with(ESCAPE) {
            return Pressed::Nothing;
        }
        let mut came = Pressed::Nothing;
        for key in keys.chars() {
            match if self.is_typing { self.typed(key, view) } else { self.chose(key, view) } {
                Pressed::End => return Pressed::End,
                Pressed::Otherwise => came = Pressed::Otherwise,
                Pressed::Nothing => {}
            }
        }
        came
    }

    fn chose(&mut self, key: char, view: &mut TopView) -> Pressed {
        match key {
            'q' | 'Q' => return Pressed::End,
            'H' => view.by = if view.by == TopBy::Thread { TopBy::Process } else { TopBy::Thread },
            '/' => self.is_typing = true,
            ESCAPE => view.filter.clear(),
            _ => match ORDERS.iter().find(|(of, ..)| *of == key) {
                Some((_, _, order)) => view.order = *order,
                None => return Pressed::Nothing,
            },
        }
        Pressed::Otherwise
    }

    fn typed(&mut self, key: char, view: &mut TopView) -> Pressed {
        match key {
            '\n' | '\r' => self.is_typing = false,
            ESCAPE => {
                self.is_typing = false;
                view.filter.clear();
            }
            _ if BACKSPACE.contains(&key) => drop(view.filter.pop()),
            _ if key.is_control() => return Pressed::Nothing,
            _ => view.filter.push(key),
        }
        Pressed::Otherwise
    }
}

#[cfg(test)]
mod tests {
    use howlate_analyse::waits::WaitOrder;

    use super::*;

    #[test]
    fn keys_choose_an_order_and_a_filter() {
        let (mut controls, mut view) = (Controls::default(), TopView::default());
        let mut press = |keys: &str| {
            let came = controls.press(keys, &mut view);
            (came, view.order, view.filter.clone())
        };
        let held_up = WaitOrder::HeldUp;
        assert_eq!(press("z"), (Pressed::Nothing, held_up, String::new()));
        assert_eq!(press("\u{1b}[A"), (Pressed::Nothing, held_up, String::new()), "an arrow is no letter");
        assert_eq!(press("m"), (Pressed::Otherwise, WaitOrder::Mean, String::new()));
        assert_eq!(
            press("/Sqx\u{7f}µ"),
            (Pressed::Otherwise, WaitOrder::Mean, "Sqµ".into()),
            "q is a letter of it"
        );
        assert_eq!(press("\nx"), (Pressed::Otherwise, WaitOrder::Longest, "Sqµ".into()));
        assert_eq!(press("/b"), (Pressed::Otherwise, WaitOrder::Longest, "Sqµb".into()), "it is typed on");
        assert_eq!(press("\u{1b}"), (Pressed::Otherwise, WaitOrder::Longest, String::new()));
        assert_eq!(press("hq").0, Pressed::End);
        assert_eq!((view.order, view.by), (held_up, TopBy::Process));
        controls.press("H", &mut view);
        assert_eq!(view.by, TopBy::Thread);
    }
}
