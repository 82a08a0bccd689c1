//! Whether a tracer is right: causes of lateness are made on purpose, and looked for in what it made of them.
//!
//! [`inject`] makes them, and knows no tracer: each is stamped by whoever makes it. One class after the other is made under the
//! tracer's eyes, and `score` holds its parts of each late wake-up against the stamps.

mod check;
pub mod inject;
mod quota;
mod run_class;
mod score;

pub use check::{Request, check};
