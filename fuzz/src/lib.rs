//! Fuzz targets: damaged and hostile input for everything that reads foreign data.
//!
//! A target is a function that takes any bytes and must neither panic, nor hang, nor need much memory. Its inputs
//! are mutations of seeds, which come from `testdata` and from `fuzz/corpus`, where every input that once failed
//! stays. `coverage.rs` runs them under libFuzzer, which keeps inputs that reach new code; the mutation here is blind,
//! and needs nothing but this crate.

#![allow(clippy::print_stderr, reason = "progress of a fuzzing run")]

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

mod corpus;
mod mutate;
mod run;
pub mod targets;

pub use run::{FuzzLimit, FuzzSummary, run};

/// A reader of foreign data, to be fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line, and that of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// The inputs that are mutated, besides the corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads one input.
    pub body: fn(&[u8]),
}

/// Writes the target's seeds, not the corpus, into a folder: a file each.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn write_seeds(target: &Target, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    (target.seeds)()
        .iter()
        .enumerate()
        .try_for_each(|(number, seed)| std::fs::write(folder.join(format!("seed-{number}")), seed))
}

/// Runs a target in a test: this number of inputs, or `HOWLATE_FUZZ_SECONDS` if set.
pub fn in_a_test(target: &Target, inputs: u64) -> FuzzSummary {
    // One target at a time: there is one record of the current input.
    static RUNNING: Mutex<()> = Mutex::new(());
    let _guard = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = std::env::var("HOWLATE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let limit = seconds
        .map_or(FuzzLimit::Inputs(inputs), |seconds| FuzzLimit::For(howlate_model::Span::from_secs(seconds)));
    let summary = run(target, limit, 0);
    eprintln!("{summary}");
    summary
}
