//! hwlatdetect.

mod length;
mod options;
mod text;
mod usage;

pub use options::{Options, Refusal, read};
pub use text::{Sample, preamble, report_line, sample_line, summary};
pub use usage::usage;
