//! `cargo xtask bench live`: what the live view costs the measured threads and the machine, and how soon it answers a key.
//!
//! Both sides run in a terminal of tmux; the plain side shows its usual lines there.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use howlate_analyse::quantile_ranks;
use howlate_linux::clock;
use howlate_model::Span;
use serde_json::Value;

use super::paired::median;
use super::program::{built, output};
use super::why::limit::{BenchFigure, BenchLimits};

const PAIRS: usize = 40;
/// Limit of the difference of medians, too small to matter, µs.
const MOST_LATER: f64 = 0.3;
/// Limit of the CPU time of the threads that draw, percent of a CPU.
const MOST_TAKEN: f64 = 1.0;
/// Limit until a key is answered, ms, including the start of two tmux programs.
const MOST_WAITED: f64 = 50.0;
const KEYS: usize = 40;
/// What is measured: for so long, of one thread.
const RUN: &str = "cyclic --cpus 1 --threads 1 --policy fifo:80 --dma-latency 0us --duration 4s --rounds 1 --no-save --json";
/// Sixteen conditions, which are as many rows.
const ROWS: &str = "cyclic --cpus 1 --threads 1 --policy other,nice:-5,fifo:10,fifo:80 --slack 1ns,50us --period 1ms,2ms \
                    --duration 64s --no-save --json";
/// Time of that run in which CPU time is measured.
const LOOK: Span = Span::from_secs(30);
/// Number of terminals so far, for unique names.
static TERMINALS: AtomicU32 = AtomicU32::new(0);
const EACH: Span = Span::from_millis(100);

/// Prints each figure; fails when one is above its limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let mut limits = BenchLimits::default();
    let mut differences = Vec::new();
    for _ in 0..PAIRS {
        let live_first = fastrand::bool();
        let before = if live_first { Some(median_of(&howlate, " --live")?) } else { None };
        let plain = median_of(&howlate, "")?;
        let live = before.map_or_else(|| median_of(&howlate, " --live"), Ok)?;
        differences.push((live - plain) / 1e3);
    }
    let (value, interval) = middle(&mut differences);
    let name = "live: added to the median, 1 ms, fifo:80";
    limits.judge(&BenchFigure { name, value, interval, most: MOST_LATER, unit: "µs" });
    let (plain, live) = (taken(&howlate, "")?, taken(&howlate, " --live")?);
    println!(
        "of a CPU: the painter {:.2} %, the observer {:.2} %; without the view {:.2} %",
        live[1], live[0], plain[0]
    );
    let value = live[0] + live[1] - plain[0];
    let name = "live: taken of a CPU, 16 rows, 4 Hz";
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST_TAKEN, unit: "%" });
    let value = answered(&howlate)?;
    let name = "live: until a key is answered, median";
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST_WAITED, unit: "ms" });
    limits.verdict()
}

fn middle(values: &mut [f64]) -> (f64, Option<(f64, f64)>) {
    values.sort_by(f64::total_cmp);
    let ranks = quantile_ranks(values.len() as u64, 0.5);
    (median(values), ranks.map(|(low, high)| (values[low as usize - 1], values[high as usize - 1])))
}

/// A program in a terminal of tmux, ended on drop.
struct Terminal {
    socket: String,
    folder: tempfile::TempDir,
}

impl Terminal {
    fn begin(howlate: &Path, arguments: &str) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        // A new server each time, as the last one may still be ending.
        let number = TERMINALS.fetch_add(1, Ordering::Relaxed);
        let socket = format!("howlate-bench-{}-{number}", std::process::id());
        let command = format!(
            "exec {} {arguments} > {}",
            howlate.display(),
            folder.path().join("result.json").display()
        );
        let terminal = Self { socket, folder };
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "it",
            "-x",
            "160",
            "-y",
            "50",
            &command,
        ])?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> io::Result<String> {
        let output = output(Command::new("tmux").args(["-L", &self.socket]).args(arguments))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn screen(&self) -> io::Result<String> {
        self.tmux(&["capture-pane", "-p", "-t", "it"])
    }

    fn pid(&self) -> io::Result<u32> {
        let text = self.tmux(&["display-message", "-p", "-t", "it", "#{pane_pid}"])?;
        text.trim().parse().map_err(io::Error::other)
    }

    fn is_there(&self) -> bool {
        self.pid().is_ok()
    }

    /// Waits for the end; the result.
    fn result(&self) -> io::Result<Value> {
        while self.is_there() {
            drop(clock::sleep_for(EACH));
        }
        let path: PathBuf = self.folder.path().join("result.json");
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails if the program has ended, and the server with it.
        drop(Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output());
    }
}

/// The median latency in nanoseconds.
fn median_of(howlate: &Path, live: &str) -> io::Result<f64> {
    let result = Terminal::begin(howlate, &format!("{RUN}{live}"))?.result()?;
    let p50 = result["results"][0]["latency_ns"]["p50"].as_f64();
    p50.ok_or_else(|| io::Error::other(format!("there is no median: {result}")))
}

/// CPU time of the observing and of the drawing thread, percent of a CPU.
fn taken(howlate: &Path, live: &str) -> io::Result<[f64; 2]> {
    let terminal = Terminal::begin(howlate, &format!("{ROWS}{live}"))?;
    drop(clock::sleep_for(Span::from_secs(20)));
    let pid = terminal.pid()?;
    let (before, began) = (cpu_ns(pid)?, clock::now());
    drop(clock::sleep_for(LOOK));
    let (after, lasted) = (cpu_ns(pid)?, clock::now().since(began));
    Ok([0, 1].map(|which| 100.0 * (after[which] - before[which]) as f64 / lasted.as_nanos() as f64))
}

/// CPU time of the main thread and of the thread `live`, ns.
fn cpu_ns(pid: u32) -> io::Result<[u64; 2]> {
    let mut taken = [0, 0];
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let folder = thread?.path();
        let (Ok(name), Ok(stat)) =
            (std::fs::read_to_string(folder.join("comm")), std::fs::read_to_string(folder.join("schedstat")))
        else {
            continue;
        };
        let ns: u64 = stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        let is_first = folder.file_name().is_some_and(|tid| tid.to_string_lossy() == pid.to_string());
        match (is_first, name.trim()) {
            (true, _) => taken[0] = ns,
            (_, "live") => taken[1] = ns,
            _ => {}
        }
    }
    Ok(taken)
}

/// Time from pressing a key to the new screen, ms.
fn answered(howlate: &Path) -> io::Result<f64> {
    let terminal = Terminal::begin(howlate, &format!("{ROWS} --live"))?;
    let shows_help = || terminal.screen().map(|screen| screen.contains("end and print the result"));
    while !terminal.screen()?.contains("so far") {
        drop(clock::sleep_for(EACH));
    }
    let mut waited = Vec::new();
    for number in 0..KEYS {
        // At any moment between two frames.
        drop(clock::sleep_for(Span::from_millis(fastrand::u64(100..400))));
        let began = clock::now();
        terminal.tmux(&["send-keys", "-t", "it", "?"])?;
        while shows_help()? == (number % 2 == 1) {}
        waited.push(clock::now().since(began).as_secs_f64() * 1e3);
    }
    Ok(median(&waited))
}
