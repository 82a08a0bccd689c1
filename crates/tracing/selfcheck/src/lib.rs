//! Checks a tracer: injects known causes of lateness, and compares them with what the tracer found.
//!
//! [`inject`] injects the causes without any tracer: the process that injects a cause records the times itself. One class of causes after
//! the other is injected while the tracer runs, and `score` compares the parts of each late wake-up with those times.

mod check;
pub mod inject;
mod run_class;
mod score;

pub use check::{SelfCheckRequest, check};
