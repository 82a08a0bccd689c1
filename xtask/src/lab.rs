//! The commands of `lab/`, which is built only for those who use them: it needs most of howlate.

use std::process::{Command, ExitCode};

use crate::tracefs;

/// Hands the words on.
pub fn run(words: &[&str]) -> ExitCode {
    // Benches measure a tracer that reads the kernel's trace files.
    let mut all = tracefs::words_before().to_vec();
    all.extend([env!("CARGO"), "run", "--quiet", "--package", "howlate-lab", "--"]);
    all.extend(words);
    match Command::new(all[0]).args(&all[1..]).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
