//! The text styles, each with one meaning; see `docs/commands.md`.

use anstyle::{AnsiColor, Style};

/// Headings of tables and sections.
pub(crate) const HEADING: Style = Style::new().underline();
/// The worst of several values.
pub(crate) const BOLD: Style = Style::new().bold();
/// Explanations beside measured values.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Good results.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Blocking problems.
pub(crate) const STOP: Style = AnsiColor::Red.on_default();
pub(crate) const COMMAND: Style = AnsiColor::Cyan.on_default();

pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
