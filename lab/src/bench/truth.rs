//! `cargo xtask bench truth`: comparisons with a known result, measured on this machine.
//!
//! A condition is compared with itself, and with one that is 50 µs later because its timer slack is: the kernel
//! lets such a timer expire 50 µs late, unless another interrupt comes in between. Everything takes turns.
//! `HOWLATE_BENCH_TURN`: milliseconds of a turn, 100 if unset.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::program::{built, output};

/// Comparisons of a condition with itself, and alarms among them that chance may raise: at 5 % each, more come in one
/// of twenty such benches.
const ALIKE: usize = 40;
const MOST_ALARMS: usize = 4;
/// Comparisons of conditions that differ, and those that must find it and whose interval must hold it.
const APART: usize = 20;
const LEAST_FOUND: usize = 18;
const DIFFERENCE_NS: f64 = 50_000.0;
/// Turns of each condition in a comparison.
const PAIRS: u64 = 20;

/// Prints how often a difference was found; fails when that is too often or too rarely.
pub(super) fn run() -> io::Result<()> {
    let truth = CompareRuns { howlate: built()?, folder: tempfile::tempdir()?, turn: turn() };
    let alike = truth.compared("1ns,2ns", ALIKE)?;
    let apart = truth.compared("1ns,50001ns", APART)?;
    let alarms = count(&alike, |result| result["verdict"] == "worse" || result["verdict"] == "better");
    let median = |result: &Value| result["compared"][0]["statistics"][0].clone();
    let found = count(&apart, |result| median(result)["verdict"] == "worse");
    let held = count(&apart, |result| holds(&median(result)["interval_ns"]));
    println!("{PAIRS} pairs of turns of {} ms in each comparison", truth.turn);
    println!("alike:      {alarms} alarms in {ALIKE} comparisons (at most {MOST_ALARMS})");
    println!("50 µs more: found in {found} of {APART}, interval holds it in {held} (at least {LEAST_FOUND})");
    let differences = apart.iter().filter_map(|result| median(result)["difference_ns"].as_f64());
    println!("differences found, µs: {:.1?}", differences.map(|nanos| nanos / 1_000.0).collect::<Vec<_>>());
    let holds = alarms <= MOST_ALARMS && found.min(held) >= LEAST_FOUND;
    if holds { Ok(()) } else { Err(io::Error::other("not what is known to be so")) }
}

fn turn() -> u64 {
    std::env::var("HOWLATE_BENCH_TURN").ok().and_then(|millis| millis.parse().ok()).unwrap_or(100)
}

fn count(all: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    all.iter().filter(|result| is(result)).count()
}

fn holds(interval: &Value) -> bool {
    let end = |place: usize| interval[place].as_f64();
    end(0).zip(end(1)).is_some_and(|(low, high)| low <= DIFFERENCE_NS && DIFFERENCE_NS <= high)
}

struct CompareRuns {
    howlate: PathBuf,
    folder: tempfile::TempDir,
    /// Length of a turn, ms.
    turn: u64,
}

impl CompareRuns {
    /// The results of comparing two slacks `times` times.
    fn compared(&self, slacks: &str, times: usize) -> io::Result<Vec<Value>> {
        let path = self.folder.path().join("turns.jsonl");
        (0..times).map(|_| self.once(slacks, &path)).collect()
    }

    fn once(&self, slacks: &str, path: &Path) -> io::Result<Value> {
        let (duration, rounds) = (format!("{}ms", self.turn * PAIRS), PAIRS.to_string());
        let mut measuring = Command::new(&self.howlate);
        measuring.args(["cyclic", "--threads", "1", "--quiet", "--slack", slacks]);
        output(measuring.args(["--duration", &duration, "--rounds", &rounds, "--out"]).arg(path))?;
        let mut comparing = Command::new(&self.howlate);
        // A non-zero status is a verdict, not an error.
        let output =
            comparing.arg("compare").arg(path).args(["--by", "slack", "--format", "json"]).output()?;
        std::fs::remove_file(path)?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
