//! Tests that cannot run here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write as _;

/// Says why a test did not run, and has it counted by `cargo xtask test`.
///
/// # Panics
///
/// When what is to be counted cannot be written.
pub fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let reason = reason.trim().replace('\n', "; ");
    // What `eprintln!` writes in a test that passes, `cargo test` keeps to itself.
    std::io::stderr().write_all(format!("skipped {test}: {reason}\n").as_bytes()).unwrap();
    if let Some(path) = std::env::var_os("HOWLATE_SKIPS") {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        // One line and one write: the lines are counted, and other tests write at the same time.
        file.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}
