//! `howlate fleet`, with real servers on this machine where they are installed, and a cluster played by a script.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod command_line;
#[path = "../common/mod.rs"]
mod common;
mod interrupted;
mod kubernetes;
mod over_kubernetes;
mod over_slurm;
mod over_ssh;
mod slurm;
mod sshd;

use std::path::Path;
use std::process::Output;

use common::{run, stderr, stdout};
use tempfile::TempDir;

/// A folder with a very short plan.
fn folder() -> TempDir {
    with_plan("[[cyclic]]\nthreads = 1\nsamples = 200\n")
}

/// A folder with a plan of several hours.
fn folder_for_hours() -> TempDir {
    with_plan("[[cyclic]]\nthreads = 1\nduration = \"1h\"\n")
}

fn with_plan(plan: &str) -> TempDir {
    let folder = tempfile::Builder::new().prefix("fleet").tempdir().unwrap();
    std::fs::write(folder.path().join("plan.toml"), plan).unwrap();
    folder
}

/// Name and state of each node in the output.
fn nodes(output: &Output) -> Vec<(String, String)> {
    let message = stdout(output);
    let listed = message.lines().take_while(|line| !line.is_empty());
    listed
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, state)| (name.into(), state.trim().into()))
        .collect()
}

/// Each of these nodes has measured, and is in the output once.
#[track_caller]
fn assert_measured(output: &Output, folder: &Path, names: &[&str]) {
    let found = nodes(output);
    for name in names {
        let state = found.iter().find(|node| node.0 == *name).map(|node| node.1.as_str());
        assert!(state.is_some_and(|state| state.starts_with("done")), "{name}: {found:?} {}", stderr(output));
        assert!(
            folder.join(format!("plan-fleet/{name}.jsonl")).exists(),
            "{name}: {found:?} {}",
            stderr(output)
        );
    }
    let shown = stdout(&run(&["show", folder.join("plan-fleet").to_str().unwrap()]));
    assert!(shown.contains(&format!("{0} recordings of {0} machines", names.len())), "{shown}");
}
