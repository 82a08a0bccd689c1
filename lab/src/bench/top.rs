//! `cargo xtask bench top`: the cost of summing up all threads' waits, for others and in CPU time.

use std::io;
use std::process::{Command, Stdio};

use howlate_model::Span;
use howlate_trace::{WaitChoice, WaitSource, read_waits};

use super::busy_machine::taken_beside_many;
use super::program::built;
use super::why::limit::{BenchFigure, BenchLimits};
use super::why::ping_pong::{PAIRS, losses, middle, round_trips};

/// Limit of the slowdown of two threads that wake each other through pipes on one CPU, percent.
const MOST_LOST: f64 = 10.0;
/// Limit of its own CPU time beside many threads and context switches, percent of one CPU.
const MOST_TAKEN: f64 = 3.0;
const WHILE: Span = Span::from_secs(10);

/// Prints each figure; fails when one is above its limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let mut limits = BenchLimits::default();
    let losses = losses(PAIRS, || {
        let (mut reader, _) = read_waits(WaitChoice::Only(WaitSource::Bpf))
            .map_err(|refusal| io::Error::other(refusal.to_string()))?;
        let watched = round_trips();
        reader.read().map_err(|refusal| io::Error::other(refusal.to_string()))?;
        watched
    })?;
    let (value, interval) = middle(losses);
    let name = "top: lost of a pipe ping-pong on one CPU";
    limits.judge(&BenchFigure { name, value, interval, most: MOST_LOST, unit: "%" });
    let value = taken(&howlate)?;
    let name = "top: taken of a CPU, 500 threads and a ping-pong";
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST_TAKEN, unit: "%" });
    limits.verdict()
}

/// CPU time of a live table of this machine, percent of a CPU.
fn taken(howlate: &std::path::Path) -> io::Result<f64> {
    let (taken, ended) = taken_beside_many(|| {
        let duration = WHILE.to_string();
        Command::new(howlate).args(["top", "--duration", &duration]).stdout(Stdio::null()).status()
    })?;
    if ended.success() { Ok(taken) } else { Err(io::Error::other("howlate top failed")) }
}
