//! A report of a thousand million wake-ups.

use std::io;
use std::path::Path;
use std::process::Command;

use howlate_linux::clock;

use super::long_recording::{THREADS, WAKE_UPS, write};
use super::paired::median;
use super::program::{built, output};

const RUNS: usize = 11;

/// Writes such a recording, then times `howlate report` as a whole process.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let folder = tempfile::tempdir()?;
    let (recording, page) = (folder.path().join("long.jsonl"), folder.path().join("long.html"));
    write(&howlate, folder.path(), &recording)?;
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..RUNS {
        times.push(time(&howlate, &recording, &page)?);
        size = std::fs::metadata(&page)?.len() / 1_024;
        std::fs::remove_file(&page)?;
    }
    let median = median(&times);
    println!(
        "{WAKE_UPS} wake-ups, {THREADS} threads: a page of {size} KiB, median {median:.0} ms of {RUNS} runs"
    );
    Ok(())
}

/// Milliseconds that one report takes.
fn time(program: &Path, recording: &Path, page: &Path) -> io::Result<f64> {
    let began = clock::now();
    output(Command::new(program).arg("report").arg(recording).arg("-o").arg(page))?;
    Ok(clock::now().since(began).as_secs_f64() * 1e3)
}
