//! howlate in cyclictest's place: called as it is called, read as it is read.
//!
//! Nothing here depends on how late this machine is. What needs real-time priority or Debian's
//! cyclictest is skipped, with the reason, where there is none.

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

/// `howlate cyclictest` with these words.
fn howlate(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howlate"));
    command.arg("cyclictest").args(words);
    command
}

/// Runs it to its end.
fn run(words: &[&str]) -> Output {
    howlate(words).output().unwrap()
}

/// What it prints, once it has ended with status 0.
#[track_caller]
fn printed(words: &[&str]) -> String {
    let output = run(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether measuring threads may have real-time priority here; if not, that is why a test is skipped.
fn has_priority() -> bool {
    let may = run(&["-q", "-l", "1", "-p", "80"]).status.success();
    if !may {
        common::skip("this user may not use real-time priorities");
    }
    may
}
