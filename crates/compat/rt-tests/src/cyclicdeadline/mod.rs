//! cyclicdeadline.

mod options;
mod tally;
mod text;
mod usage;

pub use options::{Options, Refusal, Thread, read};
pub use tally::Tally;
pub use text::{
    broken, intervals, json, main_thread, missed, table, thread_ids, thread_settings, trace_mark,
};
pub use usage::usage;
