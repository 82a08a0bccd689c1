//! Sequential statistics: a run that goes on until something is known tests again and again, and its result must still hold at
//! its confidence.
//!
//! A fixed bound does not: χ² bounds of a rate at 95 %, read every minute of a day, are below the true rate at some time in 17
//! of 100 runs. The tests here are valid at whatever time one stops (`rate`, `sign_test`), or look at fixed lengths and were
//! tested by simulation (`looks`).

mod comparison;
pub(crate) mod exceedances;
pub(crate) mod looks;
mod progress;
pub(crate) mod rate;
mod run_lengths;
mod run_progress;
mod sign_test;
mod tracker;

pub use comparison::least_pairs;
pub use exceedances::slowest_change;
pub use progress::{Decision, DecisionInterval, IntervalUnit, Progress};
pub use run_lengths::{RunLengths, run_lengths};
pub use run_progress::progress_of;
pub(crate) use tracker::Tracker;
pub use tracker::{Unreachable, least_time};

/// Confidence of all results.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The evidence, as the logarithm of an e-value, that decides at [`CONFIDENCE`]: ln(1 / α).
///
/// Source: Ville's inequality; Howard et al., Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of
/// Statistics 49 (2021).
pub(crate) fn decisive() -> f64 {
    -(1.0 - CONFIDENCE).ln()
}
