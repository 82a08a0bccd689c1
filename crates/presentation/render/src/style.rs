//! The few styles that text uses, each with one meaning; `docs/commands.md` has them.

use anstyle::{AnsiColor, Style};

/// What stands above a table or a section.
pub(crate) const HEADING: Style = Style::new().underline();
/// The worst of what stands together.
pub(crate) const BOLD: Style = Style::new().bold();
/// What only explains, beside what was measured.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What is good.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What is to be minded.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// What stops people.
pub(crate) const STOP: Style = AnsiColor::Red.on_default();
/// What is to be typed.
pub(crate) const COMMAND: Style = AnsiColor::Cyan.on_default();

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
