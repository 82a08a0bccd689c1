//! The terminal: whether it will do, its other screen, its keys, and what it is told when the program is stopped.

mod alternate_screen;
mod signals;
mod suitable;
mod tty;

pub(crate) use alternate_screen::AlternateScreen;
pub use suitable::Unsuitable;
pub(crate) use suitable::{LEAST_COLUMNS, LEAST_ROWS, check};
pub(crate) use tty::{Bell, Tty};
