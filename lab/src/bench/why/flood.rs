//! Two traced threads while hackbench floods the kernel with events: what is lost, and whether memory grows.

use std::fs;
use std::io::{self, Seek};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howlate_linux::clock;
use howlate_model::Span;
use serde_json::Value;

use super::limit::{BenchFigure, BenchLimits};

/// Seconds of traced turns; untraced ones take as long again.
fn seconds() -> u64 {
    if std::env::var_os("HOWLATE_BENCH_LONG").is_some() { 600 } else { 60 }
}

/// Limit of memory growth after a quarter of the time, MiB: fluctuations of the allocator.
const GROWTH: f64 = 1.0;
const LOOK_EVERY: Span = Span::from_millis(500);

pub(super) fn run(howlate: &Path, limits: &mut BenchLimits) -> io::Result<()> {
    let seconds = seconds();
    let loops = ["cyclic", "--policy", "fifo:80", "--threads", "2", "--period", "1ms", "--load", "hackbench"];
    let turns =
        ["--rounds", "10", "--why", "--tracer", "bpf", "--json", "--details", "--quiet", "--duration"];
    let mut command = Command::new(howlate);
    let mut printed = tempfile::tempfile()?;
    command.args(loops).args(turns).arg(format!("{seconds}s")).stdout(Stdio::from(printed.try_clone()?));
    let mut child = command.spawn()?;
    let sizes = resident_until_it_ends(&mut child)?;
    printed.rewind()?;
    report(&serde_json::from_reader(printed)?, seconds)?;
    let from = sizes.len() / 4;
    let growth = sizes.last().zip(sizes.get(from)).map_or(f64::NAN, |(last, first)| last - first);
    let name = "bpf: memory grown under hackbench";
    limits.judge(&BenchFigure { name, value: growth, interval: None, most: GROWTH, unit: "MiB" });
    Ok(())
}

/// Samples of resident memory, MiB.
fn resident_until_it_ends(child: &mut Child) -> io::Result<Vec<f64>> {
    let file = format!("/proc/{}/status", child.id());
    let mut sizes = Vec::new();
    while child.try_wait()?.is_none() {
        let status = fs::read_to_string(&file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        sizes.extend(kib.map(|kib| kib / 1024.0));
        clock::sleep_for(LOOK_EVERY)?;
    }
    Ok(sizes)
}

/// Prints the lost events.
fn report(result: &Value, seconds: u64) -> io::Result<()> {
    let all = result["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sum = |key: &str| all.iter().filter_map(|condition| condition["why"][key].as_u64()).sum::<u64>();
    let (decomposed, not) = (sum("decomposed"), sum("not_decomposed"));
    if decomposed == 0 {
        return Err(io::Error::other("no wake-up was traced under hackbench"));
    }
    println!(
        "two threads at 1 kHz under hackbench, {seconds} s traced: {} events lost, {decomposed} of {} wake-ups decomposed ({:.2} %)",
        sum("lost_events"),
        decomposed + not,
        100.0 * decomposed as f64 / (decomposed + not) as f64
    );
    Ok(())
}
