//! Which settings help on this machine: each is tried in turns that are interleaved with the baseline's, all are judged
//! together, and the set that helps is confirmed on turns that had no part in choosing it.
//!
//! It knows no command line and prints nothing. What is to be tried is looked at first ([`Prepared`] for howlate's own
//! threads, [`PreparedProgram`] for somebody's program), so that whoever asked can say what will be changed; then it is
//! measured, and what was found ([`Found`]) gives a report.

mod altered;
mod budget;
mod candidates;
mod error;
mod facts;
mod found;
mod options;
mod prepared;
mod program;
mod report;
mod restoring;
#[cfg(test)]
mod scripted_tests;
mod search;
mod selection;
mod turn_length;

pub use error::{NothingToCompare, TuneError};
pub use found::{Found, Reliance};
pub use options::Options;
pub use prepared::Prepared;
pub use program::{PreparedProgram, ProgramOptions, Sight, Whom, look_at_settings};
pub use restoring::{Restored, restore};
pub use selection::KnobSelection;
pub use turn_length::wakeups_per_turn;
