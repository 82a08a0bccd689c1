//! Measurements: the requested threads, settings and loads are those that are measured.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod clocks;
mod commands;
mod exports;
mod kept;
mod live;
mod loads;
mod masks;
mod notify;
mod plans;
mod samples;
mod settings;
mod sleepers;
mod unprivileged;
mod until;
