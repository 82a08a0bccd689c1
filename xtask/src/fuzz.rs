//! `cargo xtask fuzz`: damaged and hostile input, for as long as asked.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Hands everything to the fuzzer, built so that overflows are found.
pub fn run(words: &[&str]) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--profile", "fuzz", "--package", "howlate-fuzz", "--"]).args(words);
    match cargo.current_dir(root).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
