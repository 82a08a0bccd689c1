//! Whether a terminal can show the view, and why not.

use std::fmt;
use std::io::{self, IsTerminal};

use rustix::termios::{tcgetpgrp, tcgetwinsize};

use super::tty::Tty;

/// Columns and rows below which tables and pictures have no room beside one another.
pub(crate) const LEAST_COLUMNS: u16 = 60;
/// Rows that are needed, for the reason of [`LEAST_COLUMNS`].
pub(crate) const LEAST_ROWS: u16 = 14;

/// Why the view cannot be shown.
#[derive(Debug)]
pub enum Unsuitable {
    /// Standard error, where all is shown that is no result, is no terminal.
    NoTerminal,
    /// There is a terminal, but none whose keys could be read.
    NoKeys,
    /// `TERM` is `dumb`, or not set at all.
    Dumb,
    /// It has fewer columns or rows than the view needs.
    TooSmall {
        /// Columns of the terminal.
        columns: u16,
        /// Rows of the terminal.
        rows: u16,
    },
    /// Somebody else has the keyboard, such as the shell that started this in the background.
    InBackground,
    /// The kernel refuses a thread, or the terminal does not take what it is told.
    Refused(io::Error),
}

impl From<io::Error> for Unsuitable {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTerminal => write!(f, "standard error is not a terminal"),
            Self::NoKeys => write!(f, "no terminal can be read from"),
            Self::Dumb => write!(f, "TERM does not name a terminal that can move its cursor"),
            Self::TooSmall { columns, rows } => write!(
                f,
                "the terminal has {columns} columns and {rows} rows, and it needs {LEAST_COLUMNS} and {LEAST_ROWS}"
            ),
            Self::InBackground => write!(f, "it runs in the background"),
            Self::Refused(error) => write!(f, "{error}"),
        }
    }
}

/// Whether the view can be shown here.
///
/// # Errors
///
/// Why not.
pub(crate) fn check() -> Result<(), Unsuitable> {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return Err(Unsuitable::NoTerminal);
    }
    if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        return Err(Unsuitable::Dumb);
    }
    let tty = Tty::open().map_err(|_| Unsuitable::NoKeys)?;
    if tcgetpgrp(&tty).is_ok_and(|group| group != rustix::process::getpgrp()) {
        return Err(Unsuitable::InBackground);
    }
    // Some do not know their size, and say 0.
    match tcgetwinsize(&stderr) {
        Ok(size) if size.ws_col < LEAST_COLUMNS || size.ws_row < LEAST_ROWS => {
            Err(Unsuitable::TooSmall { columns: size.ws_col, rows: size.ws_row })
        }
        _ => Ok(()),
    }
}
