//! Measurements as they are typed: what is asked for is what is measured, under the settings and loads that were asked for.

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
