//! Standard output and standard error. The only place that prints.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Text wider than this is hard to read, however wide the terminal.
const WIDEST: usize = 120;
/// Where there is no terminal to ask.
const USUAL: usize = 100;

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Prints a result on standard output, without styles where it is no terminal.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints on standard output exactly what is given, escape sequences too, for programs that read them.
pub(crate) fn print_as_is(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Says something on standard error, which is for everything but results.
pub(crate) fn say(text: &str) {
    // Nobody is left to be told when standard error is gone.
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

/// Whether somebody watches standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns to fill.
pub(crate) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    asked.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(USUAL).clamp(40, WIDEST)
}

/// Whether the locale allows more than ASCII: no variable names another character set.
pub(crate) fn may_show_unicode() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_none_or(|locale| is_utf8(&locale))
}

/// `en_GB.UTF-8`, `C.utf8`.
fn is_utf8(locale: &str) -> bool {
    locale.to_lowercase().replace('-', "").contains("utf8")
}

/// Text that is replaced in place, on standard error.
#[derive(Default)]
pub(crate) struct InPlace {
    lines: usize,
}

impl InPlace {
    /// Shows `text` where the last one was. Lines are not wrapped, so that each stays one line.
    pub(crate) fn show(&mut self, text: &str) {
        // Up to the first line, clear to the end of the screen, no wrapping while it is written.
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        say(&format!("{up}\r\x1b[J\x1b[?7l{}\n\x1b[?7h", text.trim_end()));
        self.lines = text.trim_end().lines().count();
    }

    /// Removes the text.
    pub(crate) fn clear(&mut self) {
        if self.lines > 0 {
            say(&format!("\x1b[{}A\r\x1b[J", self.lines));
            self.lines = 0;
        }
    }
}
