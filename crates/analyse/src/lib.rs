//! Numbers from recordings. Pure: lines in, numbers out; whether the lines come from a file or
//! from a run that is still going makes no difference.

mod analysis;
mod insight;
mod interval;
mod limits;
mod staircase;
mod summary;

pub use analysis::{Analysis, Outcome};
pub use insight::{Insight, Origin, insights};
pub use interval::{Interval, exceeded_at_most, quantile_ranks};
pub use limits::exceeded;
pub use summary::Summary;
