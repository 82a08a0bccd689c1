//! Command line and output of cyclicdeadline.

mod options;
mod stats;
mod text;

pub use options::{CyclicdeadlineEarlyExit, CyclicdeadlineOptions, DeadlineParameters, parse};
pub use stats::DeadlineThreadStats;
pub use text::{
    break_lines, intervals, json, main_thread, missed_periods, table, thread_ids, thread_settings,
    trace_mark, usage,
};
