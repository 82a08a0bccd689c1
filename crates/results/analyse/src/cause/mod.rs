//! Why wake-ups were late, from what a tracer saw. Pure: events in, parts out.
//!
//! `join` finds what was seen of each wake-up, `decompose` splits it into parts whose sum is its
//! lateness; the model's `Ledger` adds them up, and `late` reads it.

mod decompose;
mod hypervisor;
mod inherited_deadline;
mod join;
mod loop_turn;
mod only_if;
mod past;
mod plausible_durations;
mod remedy;
mod standstill;
mod thread_pools;
mod time_line;
mod traces;
mod waiting;
mod why_late;

pub use decompose::{Decomposed, decompose, decompose_since};
pub use inherited_deadline::handed_on;
pub use join::{Joiner, Judged};
pub use loop_turn::{Beforehand, turn};
pub use only_if::OnlyIf;
pub use past::{LOCK_CALL, Past, PastSleep, activity, waited_in};
pub use remedy::{is_of_measuring, only_if, remedy};
pub use thread_pools::{Family, families};
pub use traces::Traces;
pub use why_late::{ProbeEffect, Why, WhyCause, WhyLate, WhyPart, WhyRemedy};

#[cfg(test)]
mod captured_traces;
#[cfg(test)]
mod tests;
