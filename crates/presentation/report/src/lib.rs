//! HTML pages, Markdown, SVG and PNG of analysed recordings. Returns text, prints nothing.
//!
//! The page holds everything it needs: it opens from a disk, asks no network for anything, and
//! can be read without its script.

mod answer;
mod causes;
mod chart;
mod code_to_copy;
mod comparison;
mod condition_names;
mod deadline;
mod document;
mod entry;
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

pub use chart::ChartTheme;
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
pub struct NamedRecording<'a> {
    /// File name, to tell recordings apart.
    pub name: &'a str,
    /// Evaluation of its lines.
    pub analysis: &'a Analysis,
    /// Wake-ups later than this missed the deadline; `None`: the period, for periodic work.
    pub deadline: Option<Span>,
}

impl<'a> NamedRecording<'a> {
    /// A recording without a deadline of its own.
    pub const fn new(name: &'a str, analysis: &'a Analysis) -> Self {
        Self { name, analysis, deadline: None }
    }
}

/// Contents of a report: recordings, and the comparison of them or of their conditions.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    /// In the order of the command line.
    pub recordings: &'a [NamedRecording<'a>],
    /// Result of `howlate compare`; `None` where there is a single condition.
    pub comparison: Option<ComparisonReport<'a>>,
}
