//! Symbols of pictures and texts, for terminals with Unicode and with ASCII only.

use ratatui::buffer::Buffer;
use ratatui::symbols::bar;

/// Symbols that pictures and tables consist of.
#[derive(Debug)]
pub(crate) struct ScreenSymbols {
    /// From one eighth to eight eighths.
    pub(crate) bars: bar::Set<'static>,
    pub(crate) hole: &'static str,
    /// Of heat maps, from few to many.
    pub(crate) shades: [&'static str; 4],
    /// Completed and remaining part of a progress bar.
    pub(crate) progress: [&'static str; 2],
    /// Marks the selected row.
    pub(crate) selected: &'static str,
    /// Marks the row that is measured now.
    pub(crate) running: &'static str,
    /// On and off.
    pub(crate) switches: [&'static str; 2],
    /// Ascending and descending order.
    pub(crate) orders: [&'static str; 2],
}

impl ScreenSymbols {
    pub(crate) fn are_ascii(&self) -> bool {
        self.hole.is_ascii()
    }
}

pub(crate) static UNICODE: ScreenSymbols = ScreenSymbols {
    bars: bar::NINE_LEVELS,
    hole: "╳",
    shades: ["░", "▒", "▓", "█"],
    progress: ["━", "─"],
    selected: "▌",
    running: "•",
    switches: ["■", "□"],
    orders: ["▲", "▼"],
};

pub(crate) static ASCII: ScreenSymbols = ScreenSymbols {
    bars: bar::Set {
        full: "#",
        seven_eighths: "#",
        three_quarters: "*",
        five_eighths: "+",
        half: "=",
        three_eighths: "-",
        one_quarter: ":",
        one_eighth: ".",
        empty: " ",
    },
    hole: "x",
    shades: [".", "+", "*", "#"],
    progress: ["=", "-"],
    selected: ">",
    running: "*",
    switches: ["[x]", "[ ]"],
    orders: ["^", "v"],
};

/// ASCII replacements of the signs in texts. Names from outside stay as they are.
const ASCII_SIGNS: [(&str, &str); 8] =
    [("·", "|"), ("–", "-"), ("−", "-"), ("…", "~"), ("µ", "u"), ("×", "x"), ("→", ">"), ("≤", "<")];

/// Replaces the signs of texts by ASCII.
pub(crate) fn replace_unicode(cells: &mut Buffer) {
    for cell in &mut cells.content {
        if let Some((_, ascii)) = ASCII_SIGNS.iter().find(|(sign, _)| *sign == cell.symbol()) {
            cell.set_symbol(ascii);
        }
    }
}

/// Whether the locale's character set is UTF-8. True where no variable is set: today's default.
pub fn may_show_unicode() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_none_or(|locale| is_utf8(&locale))
}

/// Whether a locale names UTF-8: `en_GB.UTF-8`, `C.utf8`.
fn is_utf8(locale: &str) -> bool {
    locale.to_lowercase().replace('-', "").contains("utf8")
}
