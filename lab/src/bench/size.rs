//! The size of the static program that people download.

use std::io;
use std::process::Command;

use super::program::output;
use super::why::limit::{BenchFigure, BenchLimits};

/// Limit of the size, in MB (10⁶ bytes).
const MOST: f64 = 10.0;

/// Builds the program; fails if it is too large.
pub fn run() -> io::Result<()> {
    let mut limits = BenchLimits::default();
    let value = bytes()? as f64 / 1e6;
    limits.judge(&BenchFigure { name: "static program", value, interval: None, most: MOST, unit: "MB" });
    limits.verdict()
}

/// `cargo xtask cross` ends with `PATH: N bytes`.
fn bytes() -> io::Result<u64> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "xtask", "--", "cross", std::env::consts::ARCH]);
    let stdout = String::from_utf8_lossy(&output(&mut cargo)?.stdout).into_owned();
    let bytes = stdout.trim_end().rsplit(' ').nth(1).and_then(|number| number.parse().ok());
    bytes.ok_or_else(|| io::Error::other(format!("no number of bytes in `{stdout}`")))
}
