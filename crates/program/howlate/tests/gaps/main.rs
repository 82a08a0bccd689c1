//! `howlate gaps`, and howlate in the places of oslat, hwlatdetect and cyclicdeadline: called as they are called, read as they are
//! read.
//!
//! Nothing here depends on how long this machine's gaps are, or how late its threads. What needs root or Debian's rt-tests is skipped, with the reason, where
//! there is none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/mod.rs"]
mod common;

mod command;
mod cyclicdeadline;
mod hwlatdetect;
mod oslat;

use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;

/// howlate under another program's name, and the folder that the link is in.
fn under_the_name(name: &str) -> (Command, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join(name);
    symlink(env!("CARGO_BIN_EXE_howlate"), &link).unwrap();
    (Command::new(link), folder)
}

/// The last of the CPUs that this process may use.
fn last_cpu() -> String {
    let cpus = howlate_linux::sched::affinity().unwrap();
    cpus.iter().last().unwrap().to_string()
}

/// Lines with what differs from run to run taken out: numbers, how many rows of one shape there are, and where empty ones were.
fn shape(text: &str) -> Vec<String> {
    let numbers = regex::Regex::new(r"\d+(\.\d+)?").unwrap();
    let lines = text.lines().filter(|line| *line != "    ...");
    let mut shapes: Vec<String> = lines.map(|line| numbers.replace_all(line, "N").into_owned()).collect();
    shapes.dedup();
    shapes
}
