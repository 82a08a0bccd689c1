//! Tests that cannot run here. Unit tests of other crates have this file as a module of theirs.

#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "read by whoever runs the tests")]

use std::io::Write as _;

/// Says why a test did not run, and has it counted by `cargo xtask test`.
pub(crate) fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let reason = reason.trim().replace('\n', "; ");
    eprintln!("skipped {test}: {reason}");
    if let Some(path) = std::env::var_os("HOWLATE_SKIPS") {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        // One line and one write: the lines are counted, and other tests write at the same time.
        file.write_all(format!("{test}: {reason}\n").as_bytes()).unwrap();
    }
}
