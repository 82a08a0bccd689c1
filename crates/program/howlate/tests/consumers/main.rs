//! Programs that read howlate's output: libraries and tools from package registries.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod farms;
mod hdr;
mod manual;
mod packages;
mod perfetto;
mod schemas;
mod tap;
mod xml;

use std::path::PathBuf;

use common::{howlate, stderr, stdout};

/// The recordings that every version must read.
fn recordings() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1"))
}

/// Output of `howlate show` of a recording in a format; the status must be `status`.
#[track_caller]
fn show(recording: &str, format: &str, more: &[&str], status: i32) -> String {
    let file = format!("{recording}.jsonl");
    let arguments = [&["show", "--format", format, &file], more].concat();
    let output = howlate(&arguments).current_dir(recordings()).output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}
