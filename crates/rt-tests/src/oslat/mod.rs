//! oslat.

mod counts;
mod dialect;
mod options;
mod results;
mod text;
mod usage;

pub use counts::Counts;
pub use dialect::Dialect;
pub use options::{Options, Refusal, read};
pub use results::{CpuResult, Results};
pub use text::{json, preamble, summary};
pub use usage::usage;
