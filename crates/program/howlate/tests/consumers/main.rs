//! Those who read what howlate writes, each by its own library or program from a package registry.

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

/// The recordings that every version keeps readable.
fn recordings() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1"))
}

/// What `howlate show` prints of a recording in a format; it must end with `status`.
#[track_caller]
fn shown(recording: &str, format: &str, more: &[&str], status: i32) -> String {
    let file = format!("{recording}.jsonl");
    let words = [&["show", "--format", format, &file], more].concat();
    let output = howlate(&words).current_dir(recordings()).output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{words:?}: {}", stderr(&output));
    stdout(&output)
}
