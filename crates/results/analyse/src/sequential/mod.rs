//! Statistics that may be looked at at any time: a run that is measured until something is known looks at them again and
//! again, and what it says in the end is to hold at its confidence all the same.
//!
//! A fixed bound does not: χ² bounds of a rate at 95 %, looked at every minute of a day, are below the true rate at some
//! time in 17 of 100 runs. What is here is valid at whatever time one stops (`rate`, `sign_test`), or says at
//! which lengths it looks and is held to its confidence by simulation (`looks`).

mod compared;
pub(crate) mod exceedances;
mod found;
mod known;
mod lengths;
pub(crate) mod looks;
mod of_all;
pub(crate) mod rate;
mod sign_test;
mod tracked;

pub use compared::least_pairs;
pub use found::{Between, Decision, Found, Unit};
pub use known::known;
pub use lengths::{Lengths, lengths};
pub(crate) use tracked::Tracked;
pub use tracked::{Unreachable, least_time};

/// How sure what is said is.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// From this evidence on, as the logarithm of an e-value, something is decided at [`CONFIDENCE`]: ln(1 / α).
///
/// Source: Ville's inequality; Howard et al., Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of
/// Statistics 49 (2021).
pub(crate) fn decisive() -> f64 {
    -(1.0 - CONFIDENCE).ln()
}
