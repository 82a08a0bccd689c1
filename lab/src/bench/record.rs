//! `cargo xtask bench record`: what recording the whole machine costs others and itself, and how soon a large folder answers.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use howlate_linux::clock;
use howlate_model::{Header, Line, Span};
use howlate_trace::{LateReader, LateThresholds, ring_events};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::busy_machine::taken_beside_many;
use super::crowd::memory;
use super::paired::median;
use super::program::built;
use super::why::limit::{BenchFigure, BenchLimits};
use super::why::ping_pong::{PAIRS, losses, middle, round_trips};

/// Limit of the slowdown of two threads that wake each other through pipes on one CPU, percent of their round trips.
const MOST_LOST: f64 = 8.0;
/// Limit of its own CPU time beside many threads and context switches, percent of one CPU.
const MOST_TAKEN: f64 = 2.0;
/// Limit of resident memory, MiB; the ring buffers belong to the kernel.
const MOST_RESIDENT: f64 = 64.0;
/// Limit of `show --at` in a folder of 1 GB, s.
const MOST_SHOWING: f64 = 0.5;
const ABOVE: Span = Span::from_millis(5);
const LOOP_ABOVE: Span = Span::from_millis(100);
const KEEP: Span = Span::from_secs(2);
/// What its beginning takes, a quarter of a second, is a part of it: it runs for weeks.
const WHILE: Span = Span::from_secs(60);

/// Pairs with each of the other tools, and how long they may take to start.
const PAIRS_OF_OTHERS: usize = 20;
const TO_BEGIN: Span = Span::from_secs(1);

/// Number of files in the large folder, bytes of each, and the half hour for `show --at`.
const FILES: u64 = 256;
const FILE: usize = 4 << 20;
const ASKED: &str = "2026-10-03T04:10Z";
/// Beginning of the first file, seconds since 1970 (2026-10-01T00:00:00Z), and length of each.
const BEGINS: u64 = 1_790_812_800;
const LASTS: u64 = 1_800;
const RUNS: usize = 11;

/// Prints each figure; fails if one is above its limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let mut limits = BenchLimits::default();
    let refused = |refusal: howlate_model::TracerRefusal| io::Error::other(refusal.to_string());
    let losses = losses(PAIRS, || {
        let mut reader =
            LateReader::begin(LateThresholds { above: ABOVE, loop_above: LOOP_ABOVE }, ring_events(KEEP))
                .map_err(refused)?;
        let recorded = round_trips();
        reader.groups().map_err(refused)?;
        recorded
    })?;
    let (value, interval) = middle(losses);
    let name = "record: lost of a pipe ping-pong on one CPU";
    limits.judge(&BenchFigure { name, value, interval, most: MOST_LOST, unit: "%" });
    run_alternatives()?;
    let (taken, resident) = taken(&howlate)?;
    let name = "record: taken of a CPU, 500 threads and a ping-pong";
    limits.judge(&BenchFigure { name, value: taken, interval: None, most: MOST_TAKEN, unit: "%" });
    let name = "record: resident memory";
    limits.judge(&BenchFigure { name, value: resident, interval: None, most: MOST_RESIDENT, unit: "MiB" });
    let name = "show --at in a folder of 1 GB";
    let value = showing(&howlate)?;
    limits.judge(&BenchFigure { name, value, interval: None, most: MOST_SHOWING, unit: "s" });
    limits.verdict()
}

/// For comparison: the slowdown by other tools that trace waits for a CPU, if they are installed.
fn run_alternatives() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("perf.data");
    let above = (ABOVE.as_nanos() / 1_000).to_string();
    let perf = ["sched", "record", "--all-cpus", "--output", &file.to_string_lossy()].map(str::to_owned);
    for (program, arguments) in [("perf", perf.to_vec()), ("runqslower", vec![above])] {
        let beside = || {
            let mut other = Command::new(program);
            let mut other = other.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            clock::sleep_for(TO_BEGIN)?;
            let still_runs = other.try_wait()?.is_none();
            let recorded = round_trips();
            kill_process(Pid::from_child(&other), Signal::INT)?;
            other.wait()?;
            if still_runs { recorded } else { Err(io::Error::other("it does not run")) }
        };
        match losses(PAIRS_OF_OTHERS, beside).map(middle) {
            Ok((value, Some((low, high)))) => {
                println!("the same beside {program}: {value:.2} [{low:.2}, {high:.2}] %");
            }
            Ok((value, None)) => println!("the same beside {program}: {value:.2} %"),
            Err(error) => println!("the same beside {program}: not measured: {error}"),
        }
    }
    Ok(())
}

/// CPU time of a recorder of this machine, percent of a CPU, and its peak memory.
fn taken(howlate: &Path) -> io::Result<(f64, f64)> {
    let folder = tempfile::tempdir()?;
    taken_beside_many(|| recorded(howlate, &folder.path().join("kept")))
}

/// Peak memory of a recorder, MiB.
fn recorded(howlate: &Path, out: &Path) -> io::Result<f64> {
    let mut recording = Command::new(howlate)
        .args([
            "record",
            "--quiet",
            "--late-above",
            &ABOVE.to_string(),
            "--duration",
            &WHILE.to_string(),
            "--out",
        ])
        .arg(out)
        .stdout(Stdio::null())
        .spawn()?;
    let resident = most_resident(&mut recording)?;
    match recording.wait()?.success() {
        true => Ok(resident),
        false => Err(io::Error::other("howlate record failed")),
    }
}

/// Peak memory of the process, MiB.
fn most_resident(recording: &mut Child) -> io::Result<f64> {
    let mut most = 0.0_f64;
    while recording.try_wait()?.is_none() {
        most = memory(recording.id()).map_or(most, |[_, peak]| most.max(peak));
        drop(clock::sleep_for(Span::from_millis(200)));
    }
    Ok(most)
}

/// How long `howlate show --at` takes in a large folder, in seconds.
fn showing(howlate: &Path) -> io::Result<f64> {
    let folder = tempfile::tempdir()?;
    (0..FILES).try_for_each(|number| write(folder.path(), number))?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let began = clock::now();
        let shown = Command::new(howlate).arg("show").arg(folder.path()).args(["--at", ASKED]).output()?;
        times.push(clock::now().since(began).as_secs_f64());
        if !String::from_utf8_lossy(&shown.stdout).contains("held up by rsync") {
            return Err(io::Error::other("howlate show has not found what was asked for"));
        }
    }
    Ok(median(&times))
}

/// A file of incidents with the length of a recorder's.
fn write(folder: &Path, number: u64) -> io::Result<()> {
    let (day, half) = (1 + number / 48, number % 48);
    let moment = |minute: u64, second: u64| {
        format!("2026-10-{day:02}T{:02}:{:02}:{second:02}Z", half / 2, half % 2 * 30 + minute)
    };
    let started = moment(0, 0);
    let name = started.replace(['-', ':'], "");
    let path = folder.join(format!("{:08}-{name}.jsonl", number + 1));
    let header = Header { command: "record".into(), started, ..Header::for_conditions(Vec::new()) };
    let mut text = serde_json::to_string(&Line::Header(Box::new(header)))?;
    for line in 0.. {
        let at = moment(line / 60 % 30, line % 60);
        text.push('\n');
        text.push_str(&incident(&at, line).to_string());
        if text.len() >= FILE {
            break;
        }
    }
    text.push('\n');
    let mut file = File::create(&path)?;
    file.write_all(text.as_bytes())?;
    let ended = SystemTime::UNIX_EPOCH + Duration::from_secs(BEGINS + (number + 1) * LASTS);
    file.set_modified(ended)
}

/// A wait with about ten parts, as on a busy machine.
fn incident(at: &str, number: u64) -> serde_json::Value {
    let end = 1_000_000_000 * (1 + number);
    let part = |place: u64| json!({"part": "waiting", "kind": "thread", "name": "rsync", "pid": 9 + place, "from_ns": end - 600_000 * (10 - place), "ns": 600_000});
    let parts: Vec<_> = (0..10).map(part).collect();
    json!({"incident": {
        "at": at, "at_ns": end, "latency_ns": 6_000_000,
        "thread": {"name": "worker", "process": "nginx", "pid": 70, "tid": 71, "uid": 0},
        "kind": "woken", "cpu": 1, "parts": parts,
        "causes": [{"kind": "thread", "name": "rsync", "pid": 9, "process": "backup", "ns": 6_000_000, "share": 1.0}],
    }})
}
