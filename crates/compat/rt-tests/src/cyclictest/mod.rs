//! Command line and output of cyclictest: options are converted to a [`Turn`](howlate_model::Turn) of howlate's measuring
//! engine, and measured wake-ups to cyclictest's text.

mod affinity;
mod arguments;
mod checks;
mod histogram_rows;
mod json;
mod options;
mod raw_options;
mod report;
mod results;
mod spikes;
mod stats;
mod table;
mod translation;
mod turn;
mod usage;
mod verbose;
mod warning;

pub use affinity::CpuMasks;
pub use arguments::parse;
pub use json::json;
pub use options::{
    Align, CyclictestEarlyExit, CyclictestOptions, CyclictestRequest, HistogramOptions, LatencyUnit,
    PolicyName, PowerManagement,
};
pub use report::{final_text, histogram_text, live_text, stat_lines, status_text};
pub use results::{BreakEvent, CyclictestResults};
pub use stats::ThreadStats;
pub use translation::{as_cyclic, option_hint};
pub use turn::{break_threshold, conditions, trace_mark, turn};
pub use usage::{OptionHelp, options_help, usage};
pub use verbose::preamble;
pub use warning::CyclictestWarning;
