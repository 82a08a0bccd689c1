//! `cargo xtask bench quick`: how soon the quick look answers, from the end of its last turn until its first letter.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use howlate_linux::clock;
use howlate_model::{Line, MonotonicTime};

use super::paired::median;
use super::program::built;
use super::why::limit::{BenchFigure, BenchLimits};

/// Until its text appears, ms.
const MOST: f64 = 50.0;
const RUNS: usize = 5;

/// Prints the median of several looks; fails when it is above its limit.
pub fn run() -> io::Result<()> {
    let (howlate, folder) = (built()?, tempfile::tempdir()?);
    let path = |run| folder.path().join(format!("{run}.jsonl"));
    let times: Vec<f64> = (0..RUNS).map(|run| time(&howlate, &path(run))).collect::<Result<_, _>>()?;
    let (name, value) = ("quick look: until its text, median", median(&times));
    let mut limits = BenchLimits::default();
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST, unit: "ms" });
    limits.verdict()
}

fn time(howlate: &Path, out: &Path) -> io::Result<f64> {
    let mut look =
        Command::new(howlate).arg("--quiet").arg("--out").arg(out).stdout(Stdio::piped()).spawn()?;
    let mut text = look.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
    text.read_exact(&mut [0])?;
    let shown = clock::now();
    io::copy(&mut text, &mut io::sink())?;
    look.wait()?;
    Ok(shown.since(last_turn(out)?).as_secs_f64() * 1e3)
}

/// When the last turn ended.
fn last_turn(recording: &Path) -> io::Result<MonotonicTime> {
    let text = fs::read_to_string(recording)?;
    let ended = text.lines().filter_map(|line| match serde_json::from_str(line).ok()? {
        Line::Block(block) => Some(block.until),
        Line::Why(block) => Some(block.until),
        _ => None,
    });
    ended.max().ok_or_else(|| io::Error::other("the recording has no turn"))
}
