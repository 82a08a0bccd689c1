//! oslat.

mod counts;
mod options;
mod results;
mod text;
mod usage;

pub use counts::Counts;
pub use options::{Options, Refusal, read};
pub use results::{CpuResult, Results};
pub use text::{json, preamble, summary};
pub use usage::usage;
