//! `cargo xtask bench servers`: what measuring its requests costs a watched server that does nothing but answer.

use std::fs;
use std::io::{self, BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use howlate_linux::sched;
use serde_json::Value;

use super::paired::median;
use super::program::{built, compiled, output};
use super::why::limit::{BenchFigure, BenchLimits};
use super::why::ping_pong::middle;

/// Limit of the round trips that are lost, percent.
const MOST: f64 = 3.0;
const PAIRS: usize = 30;
/// How long the server is watched in each turn.
const TURN: &str = "1s";

/// Prints the figure, and fails where it is above its limit.
pub fn run() -> io::Result<()> {
    let program = built()?;
    let folder = tempfile::tempdir()?;
    let mut echo = Echo::start(&compiled("bench/echo.c", folder.path())?)?;
    let file = folder.path().join("watched.jsonl");
    let mut losses = Vec::new();
    for _ in 0..PAIRS {
        let before = if fastrand::bool() { Some(echo.watched(&program, &file, &[])?) } else { None };
        let measured = echo.watched(&program, &file, &["--requests"])?;
        let plain = before.map_or_else(|| echo.watched(&program, &file, &[]), Ok)?;
        losses.push(100.0 * (1.0 - measured / plain));
    }
    let (value, interval) = middle(losses);
    let mut limits = BenchLimits::default();
    let name = "--requests: lost of a watched TCP ping-pong";
    limits.judge(&BenchFigure { name, value, interval, most: MOST, unit: "%" });
    limits.verdict()
}

/// A server and its client, ended on drop.
struct Echo {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    server: String,
}

impl Echo {
    /// On the last CPU, which has the least work of the kernel.
    fn start(program: &Path) -> io::Result<Self> {
        let last = sched::bindable_cpus()?.iter().max().unwrap_or(0);
        let mut child = Command::new(program).arg(last.to_string()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("the program's output is not there"))?;
        let mut lines = BufReader::new(out).lines();
        let server = lines.next().ok_or_else(ended)??;
        Ok(Self { child, lines, server })
    }

    /// Round trips per second while `howlate` watches the server with these options: the median of short times, as other programs take
    /// the CPU of a few.
    fn watched(&mut self, program: &Path, file: &Path, options: &[&str]) -> io::Result<f64> {
        let mut watch = Command::new(program);
        watch
            .args(["watch", "--quiet", "--duration", TURN, "--out"])
            .arg(file)
            .args(options)
            .arg(&self.server);
        output(&mut watch)?;
        let (from, until) = measured_time(&fs::read_to_string(file)?)?;
        fs::remove_file(file)?;
        let within = self.counts(from, until)?;
        let rate = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) * 1e9 / (pair[1].0 - pair[0].0);
        let rates: Vec<f64> = within.windows(2).map(rate).collect();
        match rates.len() {
            0..10 => Err(io::Error::other(format!("{within:?}: too few counts of round trips"))),
            _ => Ok(median(&rates)),
        }
    }

    /// Times, ns, and the round trips so far.
    fn counts(&mut self, from: f64, until: f64) -> io::Result<Vec<(f64, f64)>> {
        let mut within = Vec::new();
        loop {
            let line = self.lines.next().ok_or_else(ended)??;
            let numbers = line.split_once(' ');
            let (at, count) = numbers
                .and_then(|(at, count)| Some((at.parse().ok()?, count.parse().ok()?)))
                .ok_or_else(|| io::Error::other(format!("`{line}` is not two numbers")))?;
            if at > until {
                return Ok(within);
            }
            if at >= from {
                within.push((at, count));
            }
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ended() -> io::Error {
    io::Error::other("the server ended")
}

/// From when until when the server was watched, ns.
fn measured_time(recording: &str) -> io::Result<(f64, f64)> {
    let lines: Vec<Value> = recording.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let time = |kind: &str| lines.iter().find_map(|line| line[kind]["at_ns"].as_f64());
    let times = time("started").zip(time("finished"));
    times.ok_or_else(|| io::Error::other("the server was not watched"))
}
