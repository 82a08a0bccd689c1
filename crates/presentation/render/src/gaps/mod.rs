//! Results of `howlate gaps`, as tables and JSON.

mod json;
mod longest;
#[cfg(test)]
mod tests;
mod text;
mod wording;

use howlate_analyse::gaps::GapRun;
use howlate_model::{Caveat, MonotonicTime, Span};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::numbers::{count, length, rough};

pub use json::gaps_schema;

/// A run, and how it is shown.
#[derive(Clone, Debug)]
pub struct GapsReport {
    pub run: GapRun,
    /// Description of the machine.
    pub machine: String,
    /// Whether the machine is a virtual one.
    pub is_guest: bool,
    /// Time of day at the start.
    pub began: Timestamp,
    /// Time zone of printed times.
    pub zone: TimeZone,
    /// Whether tracing was requested.
    pub traces: bool,
    /// The caveat that the machine was busy before the start.
    pub busy: Option<Caveat>,
}

impl GapsReport {
    /// Time of day of a moment of the run.
    fn when(&self, at: MonotonicTime) -> Timestamp {
        let nanos = at.as_nanos().saturating_sub(self.run.began.as_nanos());
        self.began.saturating_add(SignedDuration::from_nanos(nanos)).unwrap_or(self.began)
    }

    /// Duration of the measurement of the first CPU; that of the others is about equal.
    fn lasted(&self) -> Span {
        self.run.cpus.first().map(|cpu| cpu.counted.lasted).unwrap_or_default()
    }
}

/// Progress of a run, on one line.
pub fn gaps_progress(passed: Span, planned: Option<Span>, gaps: u64, longest: Option<(u32, Span)>) -> String {
    let planned = planned.map_or_else(String::new, |span| format!(" of {}", length(span)));
    let longest = longest.map_or_else(String::new, |(cpu, longest)| {
        format!(", longest {} µs on CPU {cpu}", wording::micros_of(longest))
    });
    format!("{}{planned}: {} gaps{longest}", rough(passed), count(gaps))
}
