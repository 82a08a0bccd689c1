//! Damaged and hostile input for everything that reads what others wrote.
//!
//! A target is a function that takes any bytes and must neither panic, nor hang, nor need much memory. Its inputs
//! are mutations of seeds, which come from `testdata` and from `fuzz/corpus`, where every input that once failed
//! stays. `coverage.rs` feeds them under libFuzzer, which keeps inputs that reach code that none before has reached;
//! the mutation here is blind, and needs nothing but this crate.

#![allow(clippy::print_stderr, reason = "what a run of the fuzzer says")]

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

mod corpus;
mod mutate;
mod run;
pub mod targets;

pub use run::{Extent, Tally, run};

/// Something that reads what others wrote.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line, and that of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// What is mutated, besides the corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads one input.
    pub body: fn(&[u8]),
}

/// Writes what is mutated, besides the corpus, into a folder: a file each.
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

/// Runs a target in a test: a counted number of inputs, or as long as `HOWLATE_FUZZ_SECONDS` says.
pub fn in_a_test(target: &Target, inputs: u64) -> Tally {
    // One after the other, so that it is known which input failed.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = std::env::var("HOWLATE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let extent = seconds
        .map_or(Extent::Inputs(inputs), |seconds| Extent::For(howlate_model::Span::from_secs(seconds)));
    let tally = run(target, extent, 0);
    eprintln!("{tally}");
    tally
}
