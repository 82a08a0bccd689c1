//! Command line and output of oslat.

mod options;
mod results;
mod text;

pub use options::{OslatEarlyExit, OslatOptions, parse};
pub use results::{CpuHistogram, OslatCpu, OslatResults};
pub use text::{json, preamble, summary, usage};
