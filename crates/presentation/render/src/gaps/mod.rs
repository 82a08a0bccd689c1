//! What `howlate gaps` found, as tables and for machines.

mod json;
mod longest;
#[cfg(test)]
mod tests;
mod text;
mod words;

use howlate_analyse::gaps::GapRun;
use howlate_model::{Caveat, MonotonicTime, Span};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::numbers::{count, length, rough};

pub use json::gaps_schema;

/// A run, and how it is shown.
#[derive(Clone, Debug)]
pub struct Gaps {
    /// What was found.
    pub run: GapRun,
    /// The machine in one line.
    pub machine: String,
    /// Whether below it is a hypervisor.
    pub is_guest: bool,
    /// What the clock said when the run began.
    pub began: Timestamp,
    /// In which time is told.
    pub zone: TimeZone,
    /// Whether the kernel's events were asked for.
    pub traces: bool,
    /// That the machine was busy before it began.
    pub busy: Option<Caveat>,
}

impl Gaps {
    /// When something happened, by the clock on the wall.
    fn when(&self, at: MonotonicTime) -> Timestamp {
        let nanos = at.as_nanos().saturating_sub(self.run.began.as_nanos());
        self.began.saturating_add(SignedDuration::from_nanos(nanos)).unwrap_or(self.began)
    }

    /// For how long the first CPU was measured; all are for about as long.
    fn lasted(&self) -> Span {
        self.run.cpus.first().map(|cpu| cpu.counted.lasted).unwrap_or_default()
    }
}

/// How far a run has come, on one line.
pub fn gaps_progress(passed: Span, of: Option<Span>, gaps: u64, longest: Option<(u32, Span)>) -> String {
    let of = of.map_or_else(String::new, |of| format!(" of {}", length(of)));
    let longest = longest.map_or_else(String::new, |(cpu, longest)| {
        format!(", longest {} µs on CPU {cpu}", words::micros_of(longest))
    });
    format!("{}{of}: {} gaps{longest}", rough(passed), count(gaps))
}
