//! One page with words, tables and pictures, from numbers. Returns text, prints nothing.
//!
//! The page holds everything it needs: it opens from a disk, asks no network for anything, and
//! can be read without its script.

mod answer;
mod causes;
mod chart;
mod entry;
mod errors;
mod markdown;
mod names;
mod page;
mod pictures;
mod prose;
mod svg;
mod table;
mod tables;
#[cfg(test)]
mod testing;

pub use markdown::markdown;
pub use page::page;
pub use pictures::Chart;
pub use svg::{NoPicture, svg};

use howlate_analyse::Analysis;

/// A recording and its name.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// The file's name, which tells it from others.
    pub name: &'a str,
    /// What it says.
    pub analysis: &'a Analysis,
}
