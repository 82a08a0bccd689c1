//! Command line and output of hwlatdetect.

mod options;
mod text;

pub use options::{HwlatdetectEarlyExit, HwlatdetectOptions, parse};
pub use text::{HwlatdetectSample, preamble, report_line, sample_line, summary, usage};
