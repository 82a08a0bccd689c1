//! What cyclictest's users type, and what its readers parse.
//!
//! Pure: options become a [`Turn`](howlate_model::Turn) for howlate's measuring engine, and the
//! wake-ups that it reports become cyclictest's text. Three dialects are spoken, see [`Compat`].
//! `docs/cyclictest.md` lists where this differs from the original on purpose.

mod affinity;
mod arguments;
mod checks;
mod compat;
mod defaults;
mod draft;
pub mod getopt;
mod histogram;
mod histogram_rows;
mod json;
pub mod number;
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
pub use compat::{Compat, UnknownCompat};
pub use json::{RunFacts, json, json_head};
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
