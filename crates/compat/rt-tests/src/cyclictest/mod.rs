//! cyclictest: its options become a [`Turn`](howlate_model::Turn) of howlate's measuring engine, and the measured wake-ups
//! its text.

mod affinity;
mod arguments;
mod checks;
mod defaults;
mod draft;
mod histogram;
mod histogram_rows;
mod json;
mod options;
mod report;
mod request;
mod results;
mod spikes;
mod stat_line;
mod table;
mod tally;
mod translation;
mod turn;
mod usage;
mod verbose;
mod warning;

pub use affinity::CpuMasks;
pub use arguments::read;
pub use json::json;
pub use options::{Align, HistogramAsked, Options, PolicyName, Power, Unit};
pub use report::{final_text, histogram_text, live_text, stat_lines, status_text};
pub use request::{Refusal, Request};
pub use results::{Hit, Results};
pub use tally::Tally;
pub use translation::{as_cyclic, of_option};
pub use turn::{break_threshold, conditions, trace_mark, turn};
pub use usage::{OptionHelp, options_help, usage};
pub use verbose::preamble;
pub use warning::Warning;
