//! Words, tables and exports from numbers. Returns text, prints nothing.
//!
//! Text for people carries ANSI styles; the caller strips them where the output is no terminal.

mod caveats;
mod compare;
mod condition;
mod csv;
mod cyclic;
mod findings;
mod guests;
mod heading;
mod hlog;
mod insights;
mod json;
mod live;
mod load_result;
mod loads;
mod meaning;
mod notify;
pub mod numbers;
mod plan;
mod plot;
mod progress;
pub mod property;
mod quick;
pub mod scale;
mod sleep;
mod sleep_overview;
mod style;
mod table;

pub use caveats::caveat;
pub use compare::{
    ComparisonReport, SelfTest, comparison_below, comparison_json, comparison_junit, comparison_markdown,
    comparison_tap, comparison_text, self_test, self_test_json,
};
pub use condition::condition;
pub use csv::{csv, intervals_csv};
pub use findings::{Detail, findings};
pub use heading::wrapped;
pub use heading::{machine, report, what_the_maximum_supports};
pub use hlog::hlog;
pub use json::{json, json_of_many};
pub use live::{LiveRow, live};
pub use load_result::{LoadResult, PartEnd};
pub use loads::{load_effect, load_lines};
pub use meaning::meaning;
pub use plan::{extent, plan};
pub use plot::{Symbols, plots};
pub use progress::{boot_progress, progress, time_left};
pub use quick::quick;
