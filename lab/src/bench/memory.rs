//! Memory over time, many threads, and the time to the first wake-up.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howlate_linux::clock;
use howlate_model::Span;
use serde_json::Value;

use super::program::built;

/// Seconds after which memory is looked at; `HOWLATE_BENCH_LONG` adds ten minutes.
const LOOKS: [u64; 3] = [10, 30, 60];

/// Resident memory of 1 and of 200 threads, and how soon the first wake-up is measured.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    first_wake_up(&howlate)?;
    for threads in ["1", "200"] {
        resident(&howlate, threads)?;
    }
    Ok(())
}

fn first_wake_up(program: &Path) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("first.jsonl");
    let began = clock::now();
    let mut command = Command::new(program);
    command.args(["sleep", "--for", "10us", "--samples", "1", "--quiet", "--out"]).arg(&out);
    command.stdout(Stdio::null()).status()?;
    let recording = fs::read_to_string(&out)?;
    let lines = recording.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let first = lines.filter_map(|line| line["block"]["worst"][0]["at_ns"].as_i64()).min();
    let first = first.ok_or_else(|| io::Error::other("no wake-up was recorded"))?;
    println!("first wake-up {:.1} ms after the start", (first - began.as_nanos()) as f64 / 1e6);
    Ok(())
}

fn resident(program: &Path, threads: &str) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.args([
        "cyclic",
        "--threads",
        threads,
        "--period",
        "10ms",
        "--duration",
        "1h",
        "--quiet",
        "--out",
    ]);
    let mut child = command.arg(folder.path().join("run.jsonl")).stdout(Stdio::null()).spawn()?;
    let looked_at = look(&child, threads);
    child.kill()?;
    child.wait()?;
    looked_at
}

fn look(child: &Child, threads: &str) -> io::Result<()> {
    let long = std::env::var_os("HOWLATE_BENCH_LONG").map(|_| 600);
    let mut waited = 0;
    for seconds in LOOKS.into_iter().chain(long) {
        clock::sleep_for(Span::from_secs(seconds - waited))?;
        waited = seconds;
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
        let resident = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("VmRSS: ?");
        println!(
            "{threads:>3} threads, after {seconds:>3} s: {}",
            resident.trim_start_matches("VmRSS:").trim()
        );
    }
    Ok(())
}
