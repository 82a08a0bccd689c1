//! The letters that pictures are made of, for terminals that show Unicode and for those that do not.

use ratatui::symbols::bar;

/// The letters of pictures.
#[derive(Debug)]
pub(crate) struct Symbols {
    /// Bars of an eighth to eight eighths.
    pub(crate) bars: bar::Set<'static>,
    /// Where something is missing.
    pub(crate) hole: &'static str,
    /// Little to much, for maps.
    pub(crate) shades: [&'static str; 4],
    /// The filled and the empty part of progress.
    pub(crate) progress: [&'static str; 2],
    /// Beside the selected row.
    pub(crate) selected: &'static str,
    /// Beside what is being measured now.
    pub(crate) running: &'static str,
    /// What is switched on, and off.
    pub(crate) switches: [&'static str; 2],
    /// Where the order ascends and where it descends.
    pub(crate) orders: [&'static str; 2],
}

impl Symbols {
    /// Whether pictures are made of ASCII alone.
    pub(crate) fn are_ascii(&self) -> bool {
        self.hole.is_ascii()
    }
}

pub(crate) static UNICODE: Symbols = Symbols {
    bars: bar::NINE_LEVELS,
    hole: "╳",
    shades: ["░", "▒", "▓", "█"],
    progress: ["━", "─"],
    selected: "▌",
    running: "•",
    switches: ["■", "□"],
    orders: ["▲", "▼"],
};

pub(crate) static ASCII: Symbols = Symbols {
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
