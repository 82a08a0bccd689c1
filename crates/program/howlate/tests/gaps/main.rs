//! `howlate gaps`, and howlate in place of oslat, hwlatdetect and cyclicdeadline: called and read like them.
//!
//! The gaps and the lateness of this machine do not matter. Tests that need root or Debian's rt-tests are skipped without them, with the
//! reason.

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

/// howlate under another program's name, and the folder of the link.
fn under_the_name(name: &str) -> (Command, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join(name);
    symlink(env!("CARGO_BIN_EXE_howlate"), &link).unwrap();
    (Command::new(link), folder)
}

/// The last usable CPU.
fn last_cpu() -> String {
    let cpus = howlate_linux::sched::affinity().unwrap();
    cpus.iter().last().unwrap().to_string()
}

/// Lines without what varies: numbers, repeated rows, empty rows.
fn shape(text: &str) -> Vec<String> {
    let numbers = regex::Regex::new(r"\d+(\.\d+)?").unwrap();
    let lines = text.lines().filter(|line| *line != "    ...");
    let mut shapes: Vec<String> = lines.map(|line| numbers.replace_all(line, "N").into_owned()).collect();
    shapes.dedup();
    shapes
}
