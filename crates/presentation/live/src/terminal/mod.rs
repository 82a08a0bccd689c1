//! The terminal: requirements, alternate screen, keys, and job control.

mod alternate_screen;
mod signals;
mod suitable;
mod tty;

pub(crate) use alternate_screen::AlternateScreen;
pub use suitable::UnsuitableTerminal;
pub(crate) use suitable::{MIN_COLUMNS, MIN_ROWS, check};
pub(crate) use tty::{Bell, Tty};
