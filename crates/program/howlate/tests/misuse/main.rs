//! Bad input, signals at bad moments, and exit statuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod confined;
mod ends;
mod exit_status;
mod failing_disk;
mod freezer;
mod hostile;
mod json;
mod stages;
