//! Whether the terminal can show the live view.

use std::fmt;
use std::io::{self, IsTerminal};

use rustix::termios::{tcgetpgrp, tcgetwinsize};

use super::tty::Tty;

/// Smallest size with room for tables beside pictures.
pub(crate) const MIN_COLUMNS: u16 = 60;
pub(crate) const MIN_ROWS: u16 = 14;

/// Why the live view cannot be shown.
#[derive(Debug)]
pub enum UnsuitableTerminal {
    /// Standard error is not a terminal.
    NoTerminal,
    /// There is no terminal to read keys from.
    NoKeys,
    /// `TERM` is `dumb` or unset.
    Dumb,
    /// Smaller than `MIN_COLUMNS` or `MIN_ROWS`.
    TooSmall { columns: u16, rows: u16 },
    /// Another process group has the terminal, such as the shell that started this in the background.
    InBackground,
    /// No thread can be started, or the terminal cannot be written.
    Refused(io::Error),
}

impl From<io::Error> for UnsuitableTerminal {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

impl fmt::Display for UnsuitableTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTerminal => write!(f, "standard error is not a terminal"),
            Self::NoKeys => write!(f, "no terminal can be read from"),
            Self::Dumb => write!(f, "TERM does not name a terminal that can move its cursor"),
            Self::TooSmall { columns, rows } => write!(
                f,
                "the terminal has {columns} columns and {rows} rows, and it needs {MIN_COLUMNS} and {MIN_ROWS}"
            ),
            Self::InBackground => write!(f, "it runs in the background"),
            Self::Refused(error) => write!(f, "{error}"),
        }
    }
}

/// Checks the terminal of this process.
///
pub(crate) fn check() -> Result<(), UnsuitableTerminal> {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return Err(UnsuitableTerminal::NoTerminal);
    }
    if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        return Err(UnsuitableTerminal::Dumb);
    }
    let tty = Tty::open().map_err(|_| UnsuitableTerminal::NoKeys)?;
    if tcgetpgrp(&tty).is_ok_and(|group| group != rustix::process::getpgrp()) {
        return Err(UnsuitableTerminal::InBackground);
    }
    // Some terminals report 0×0.
    match tcgetwinsize(&stderr) {
        Ok(size) if size.ws_col < MIN_COLUMNS || size.ws_row < MIN_ROWS => {
            Err(UnsuitableTerminal::TooSmall { columns: size.ws_col, rows: size.ws_row })
        }
        _ => Ok(()),
    }
}
