//! howlate in place of cyclictest: called and read like it.
//!
//! The lateness of this machine does not matter. Tests that need real-time priority or Debian's cyclictest are skipped without them,
//! with the reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;

mod command_line;
mod golden;
mod idle_states;
mod readers;
mod recording;
mod shape;
mod signals;

use std::process::{Command, Output};

/// `howlate cyclictest` with these arguments.
fn howlate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howlate"));
    command.arg("cyclictest").args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    howlate(arguments).output().unwrap()
}

/// Standard output; the status must be 0.
#[track_caller]
fn stdout_of(arguments: &[&str]) -> String {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether threads may have real-time priority here; skips the test otherwise.
fn has_priority() -> bool {
    let may = run(&["-q", "-l", "1", "-p", "80"]).status.success();
    if !may {
        common::skip("this user may not use real-time priorities");
    }
    may
}
