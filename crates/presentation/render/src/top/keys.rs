//! What can be pressed while a table changes in place, and what is chosen.

use howlate_analyse::waits::WaitOrder;

use super::{TopBy, TopView};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, paint};
use crate::untrusted_text::legible;

/// The orders, each with the key that chooses it, which is a letter of its name.
pub const ORDERS: [(char, &str, WaitOrder); 5] = [
    ('h', "held up", WaitOrder::HeldUp),
    ('t', "time", WaitOrder::Time),
    ('c', "count", WaitOrder::Count),
    ('m', "mean", WaitOrder::Mean),
    ('x', "max", WaitOrder::Longest),
];

impl TopView {
    /// The keys, what they choose in bold; `typing`: a filter is being typed.
    pub fn keys(&self, typing: bool, width: usize) -> String {
        if typing {
            let filter = legible(&self.filter);
            return format!("/{filter}_  {}", paint(DIM, "Enter: keep it   Esc: none"));
        }
        let order = |(key, name, order): &(char, &str, WaitOrder)| {
            chosen(*order == self.order, &format!("{key} {name}"))
        };
        let orders: Vec<String> = ORDERS.iter().map(order).collect();
        let filter =
            if self.filter.is_empty() { String::new() } else { format!(" {}", legible(&self.filter)) };
        let rest = [
            chosen(self.by == TopBy::Thread, "H threads"),
            chosen(!self.filter.is_empty(), &format!("/ filter{filter}")),
            chosen(false, "q end"),
        ];
        wrapped(&format!("{}{}{}", orders.join(AND), "  ·  ", rest.join(AND)), width, 0)
    }
}

const AND: &str = "  ";

/// A key and what it does stand on one line.
fn chosen(is: bool, what: &str) -> String {
    let what = what.replace(' ', "\u{a0}");
    if is { paint(BOLD, what) } else { paint(DIM, what) }
}
