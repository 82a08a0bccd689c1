//! Signs of texts for terminals that show nothing but ASCII. Names of others stay as they are.

use ratatui::buffer::Buffer;

/// What stands for a sign there.
const SIGNS: [(&str, &str); 8] =
    [("·", "|"), ("–", "-"), ("−", "-"), ("…", "~"), ("µ", "u"), ("×", "x"), ("→", ">"), ("≤", "<")];

pub(super) fn replace(cells: &mut Buffer) {
    for cell in &mut cells.content {
        if let Some((_, plain)) = SIGNS.iter().find(|(sign, _)| *sign == cell.symbol()) {
            cell.set_symbol(plain);
        }
    }
}
