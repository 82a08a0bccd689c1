//! How long it takes from the start of the program until the first wake-up, with the tracer loaded before.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use howlate_linux::clock;
use serde_json::Value;

use super::limit::{BenchFigure, BenchLimits};
use crate::bench::paired::median;

const STARTS: usize = 9;
const MOST: f64 = 150.0;

pub(super) fn run(howlate: &Path, limits: &mut BenchLimits) -> io::Result<()> {
    let times = (0..STARTS).map(|_| once(howlate)).collect::<io::Result<Vec<_>>>()?;
    let (least, most) =
        times.iter().fold((f64::MAX, 0.0_f64), |(least, most), time| (least.min(*time), most.max(*time)));
    println!("{STARTS} starts with bpf: {least:.0} to {most:.0} ms");
    let name = "bpf: from the start to the first wake-up";
    limits.judge(&BenchFigure { name, value: median(&times), interval: None, most: MOST, unit: "ms" });
    Ok(())
}

/// Time from start to first wake-up, ms.
fn once(howlate: &Path) -> io::Result<f64> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("first.jsonl");
    let began = clock::now();
    let mut command = Command::new(howlate);
    command.args(["sleep", "--for", "100us", "--samples", "1", "--rounds", "1", "--quiet"]);
    command.args(["--why", "--tracer", "bpf", "--out"]).arg(&out).stdout(Stdio::null()).status()?;
    let recording = fs::read_to_string(&out)?;
    let lines = recording.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // Of the first turn, traced or not; a traced one only has the time of its end, which is later.
    let stamp =
        |line: Value| line["block"]["worst"][0]["at_ns"].as_i64().or(line["why"]["until_ns"].as_i64());
    let first = lines.filter_map(stamp).min();
    let first = first.ok_or_else(|| io::Error::other("no wake-up was recorded"))?;
    Ok((first - began.as_nanos()) as f64 / 1e6)
}
