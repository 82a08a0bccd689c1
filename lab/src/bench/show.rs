//! Reading a recording of a thousand million wake-ups.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::long_recording::{THREADS, WAKE_UPS, write};
use super::paired::median;
use super::program::built;
use super::why::limit::{BenchFigure, BenchLimits};
use howlate_linux::clock;

const RUNS: usize = 11;
/// For a thousand million wake-ups, ms.
const MOST: f64 = 40.0;

/// Writes such a recording, then times `howlate show` as a whole process.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("long.jsonl");
    write(&howlate, folder.path(), &path)?;
    let times: Vec<f64> = (0..RUNS).map(|_| time(&howlate, &path)).collect::<Result<_, _>>()?;
    let size = std::fs::metadata(&path)?.len() / 1_024;
    println!("{WAKE_UPS} wake-ups, {THREADS} threads, {size} KiB, {RUNS} runs");
    let (name, value) = ("show: the whole recording, median", median(&times));
    let mut limits = BenchLimits::default();
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST, unit: "ms" });
    limits.verdict()
}

fn time(program: &Path, path: &Path) -> io::Result<f64> {
    let began = clock::now();
    Command::new(program).arg("show").arg(path).stdout(Stdio::null()).status()?;
    Ok(clock::now().since(began).as_secs_f64() * 1e3)
}
