//! Which settings help on this machine: each is tried in turns interleaved with turns of the baseline, all are judged together, and the
//! set that helps is confirmed on turns that were not used to choose it.
//!
//! Knows no command line and prints nothing. A [`Tuner`] for howlate's own threads, or a [`ProgramTuner`] for a user's program, first
//! lists the settings, so that the caller can print what will be changed; then it measures, and its [`TuneResult`] gives a report.

mod budget;
mod candidates;
mod condition_with_setting;
mod error;
mod options;
mod program;
mod report;
mod result;
#[cfg(test)]
mod scripted_tests;
mod search;
mod thread_facts;
mod tuner;

pub use budget::wakeups_per_turn;
pub use error::{NothingToCompare, TuneError};
pub use options::{ProgramOptions, SettingSelection, TuneOptions};
pub use program::{ProgramObserver, ProgramTuner, TuneTarget, list_settings};
pub use result::{Reliability, RestoreReport, TuneResult, restore};
pub use tuner::Tuner;
