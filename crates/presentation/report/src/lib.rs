//! One page with words, tables and pictures, from numbers. Returns text, prints nothing.
//!
//! The page holds everything it needs: it opens from a disk, asks no network for anything, and
//! can be read without its script.

mod address;
mod answer;
mod causes;
mod chart;
mod code_to_copy;
mod comparison;
mod condition_names;
mod content_security_policy;
mod deadline;
mod document;
mod entry;
mod event_loops;
mod explanations;
mod fleet;
mod incidents;
mod markdown;
mod page;
mod pictures;
mod png;
mod prose;
mod sleep_errors;
mod svg;
mod table;
mod tables;
#[cfg(test)]
mod testing;

pub use chart::Theme;
pub use incidents::incidents_page;
pub use markdown::{Markdown, markdown};
pub use page::page;
pub use pictures::Chart;
pub use png::{NoPng, png};
pub use svg::{NoPicture, svg};

use howlate_analyse::Analysis;
use howlate_model::Span;
use howlate_render::ComparisonReport;

/// A recording and its name.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// The file's name, which tells it from others.
    pub name: &'a str,
    /// What it says.
    pub analysis: &'a Analysis,
    /// What comes later than this comes too late; where nothing is given, the period of periodic work.
    pub deadline: Option<Span>,
}

impl<'a> Recording<'a> {
    /// A recording without a deadline of its own.
    pub const fn new(name: &'a str, analysis: &'a Analysis) -> Self {
        Self { name, analysis, deadline: None }
    }
}

/// What is to be told: recordings, and what a comparison of them or of their conditions found.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The recordings, in the order in which they were named.
    pub recordings: &'a [Recording<'a>],
    /// What `compare` says of them, where there is something to compare.
    pub comparison: Option<ComparisonReport<'a>>,
}
