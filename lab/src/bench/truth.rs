//! `cargo xtask bench truth`: comparisons with a known result, measured on this machine.
//!
//! A condition is compared with itself, and with ones that are 20 and 50 µs later because their timer slack is: the
//! kernel lets such a timer expire that late, unless another interrupt comes in between. Everything takes turns.
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
/// Comparisons of conditions that differ, and those whose interval must hold the difference.
const APART: usize = 20;
const LEAST_RIGHT: usize = 18;
/// What the later conditions are later by, ns, and how many of their comparisons must find it: 20 µs are less than what 20 pairs of
/// 100 ms find every time, so only the intervals are held to it.
const DIFFERENCES: [(u32, usize); 2] = [(20_000, 0), (50_000, LEAST_RIGHT)];
/// Turns of each condition in a comparison.
const PAIRS: u64 = 20;

/// Prints how often a difference was found; fails when that is too often or too rarely.
pub(super) fn run() -> io::Result<()> {
    let truth = CompareRuns { howlate: built()?, folder: tempfile::tempdir()?, turn: turn() };
    println!("{PAIRS} pairs of turns of {} ms in each comparison", truth.turn);
    let alike = truth.compared("1ns,2ns", ALIKE)?;
    let alarms = count(&alike, |result| result["verdict"] == "worse" || result["verdict"] == "better");
    println!("alike:      {alarms} alarms in {ALIKE} comparisons (at most {MOST_ALARMS})");
    let mut holds = alarms <= MOST_ALARMS;
    for (difference, least_found) in DIFFERENCES {
        holds &= truth.is_right(difference, least_found)?;
    }
    if holds { Ok(()) } else { Err(io::Error::other("not what is known to be so")) }
}

fn turn() -> u64 {
    std::env::var("HOWLATE_BENCH_TURN").ok().and_then(|millis| millis.parse().ok()).unwrap_or(100)
}

fn count(all: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    all.iter().filter(|result| is(result)).count()
}

fn median(result: &Value) -> &Value {
    &result["compared"][0]["statistics"][0]
}

fn holds(interval: &Value, difference: u32) -> bool {
    let end = |place: usize| interval[place].as_f64();
    end(0).zip(end(1)).is_some_and(|(low, high)| (low..=high).contains(&f64::from(difference)))
}

struct CompareRuns {
    howlate: PathBuf,
    folder: tempfile::TempDir,
    /// Length of a turn, ms.
    turn: u64,
}

impl CompareRuns {
    /// Prints how often a median that is later by so many ns is found to be, and how often the interval holds the difference; whether both
    /// are often enough.
    fn is_right(&self, difference: u32, least_found: usize) -> io::Result<bool> {
        let apart = self.compared(&format!("1ns,{}ns", difference + 1), APART)?;
        let found = count(&apart, |result| median(result)["verdict"] == "worse");
        let held = count(&apart, |result| holds(&median(result)["interval_ns"], difference));
        let micros = difference / 1_000;
        println!(
            "{micros} µs more: found in {found} of {APART} (at least {least_found}), interval holds it in {held} (at least {LEAST_RIGHT})"
        );
        let differences = apart.iter().filter_map(|result| median(result)["difference_ns"].as_f64());
        println!(
            "differences found, µs: {:.1?}",
            differences.map(|nanos| nanos / 1_000.0).collect::<Vec<_>>()
        );
        Ok(found >= least_found && held >= LEAST_RIGHT)
    }

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
