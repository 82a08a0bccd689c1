//! The commands of `lab/`, which is built only for those who use them: it needs most of howlate.

use std::process::{Command, ExitCode};

/// Hands the words on.
pub fn run(words: &[&str]) -> ExitCode {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "howlate-lab", "--"]).args(words);
    match cargo.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
