//! `cargo xtask bench statistics`: whether what is said with a confidence is true as often as that, on simulated
//! machines of which everything is known.

use std::io;
use std::process::Command;

/// Runs the simulations, optimised; fails when a statement does not hold.
pub(super) fn run() -> io::Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["bench", "--quiet", "--package", "howlate-analyse", "--features", "simulation"]);
    let ended = cargo.args(["--bench", "statistics"]).status()?;
    if ended.success() { Ok(()) } else { Err(io::Error::other("a statement does not hold")) }
}
