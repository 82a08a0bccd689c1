//! Why wake-ups were late, from traced events. Pure: events in, parts out.
//!
//! `join` finds the traced sleeps of each wake-up, `decompose` splits its latency into parts that add up to it; the model's
//! `Ledger` sums them, and `why_late` reads the ledger.

mod decompose;
mod hypervisor;
mod join;
mod loop_turn;
mod past;
mod plausible_durations;
mod remedy;
mod standstill;
mod thread_pools;
mod time_line;
mod traces;
mod waiting;
mod why_late;

pub use decompose::{Decomposed, decompose, decompose_since, inherit_deadline};
pub use join::{ExplainedWakeup, Joiner};
pub use loop_turn::{TurnContext, decompose_turn};
pub use past::{LOCK_CALL, Past, PastSleep, activity, wait_cause, work_parts};
pub use remedy::{is_caused_by_measuring, is_rare, only_if, remedy};
pub use thread_pools::{Family, families};
pub use traces::Traces;
pub use why_late::{OnlyIf, ProbeEffect, Why, WhyCause, WhyLate, WhyPart, WhyRemedy};

#[cfg(test)]
mod captured_traces;
#[cfg(test)]
mod tests;
