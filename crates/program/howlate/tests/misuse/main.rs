//! Bad input, signals in the wrong moment, and the statuses with which the program ends.

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
