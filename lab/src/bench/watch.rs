//! `cargo xtask bench watch`: what being watched adds to the lateness of a C program's timerfd loop.

use std::io::{self, BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Span};
use howlate_trace::{Choice, Tier, Tracer, open};

use super::paired::median;
use super::program::compiled;
use super::why::limit::{BenchFigure, BenchLimits};
use super::why::ping_pong::middle;

/// Limit of the additional lateness at the median of a 1 kHz loop, µs.
const MOST: f64 = 1.2;
const PAIRS: usize = 100;
/// Wake-ups of each turn.
const WAKE_UPS: usize = 200;
/// Time for the kernel to settle after its code was patched.
const SETTLING: Span = Span::from_millis(30);

/// Prints the figure, and fails where it is above its limit.
pub fn run() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let program = compiled("bench/timer.c", folder.path())?;
    let last = sched::bindable_cpus()?.iter().max().unwrap_or(0);
    let over = AtomicBool::new(false);
    let added = thread::scope(|scope| {
        // Leaving idle takes tens of microseconds that differ from turn to turn.
        scope.spawn(|| keep_busy(last, &over));
        let added = added(&program, last);
        over.store(true, Ordering::Relaxed);
        added
    });
    let (value, interval) = middle(added?);
    let mut limits = BenchLimits::default();
    let name = "bpf: added to a watched timerfd loop, fifo:80";
    limits.judge(&BenchFigure { name, value, interval, most: MOST, unit: "µs" });
    limits.verdict()
}

fn keep_busy(cpu: u32, over: &AtomicBool) {
    drop(sched::bind(&CpuSet::from_iter([cpu])));
    while !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Differences of the medians, watched minus not watched, per pair, µs.
fn added(program: &Path, cpu: u32) -> io::Result<Vec<f64>> {
    let mut timer = Timer::start(program, cpu)?;
    let mut opened = open(Choice::Only(Tier::Bpf), &[timer.child.id()]);
    let Some(tracer) = &mut opened.tracer else {
        return Err(io::Error::other(format!("bpf: {}", opened.refused[0].1)));
    };
    let mut added = Vec::new();
    for _ in 0..PAIRS {
        let before = if fastrand::bool() { Some(timer.lateness()?) } else { None };
        let watched = watched(&mut timer, tracer.as_mut())?;
        let alone = before.map_or_else(|| timer.lateness(), Ok)?;
        added.push((watched - alone) / 1_000.0);
    }
    Ok(added)
}

fn watched(timer: &mut Timer, tracer: &mut dyn Tracer) -> io::Result<f64> {
    tracer.start().map_err(|refusal| io::Error::other(refusal.to_string()))?;
    let lateness = timer.lateness();
    tracer.stop();
    // The result has to be of this loop: one that is not watched would cost nothing.
    let (mut seen, began) = (0, clock::now());
    while seen < WAKE_UPS && clock::now().since(began) < Span::from_secs(1) {
        tracer.read(&mut |_| seen += 1);
    }
    match seen < WAKE_UPS {
        true => Err(io::Error::other(format!("only {seen} of {WAKE_UPS} wake-ups were seen"))),
        false => lateness,
    }
}

/// The running program, ended on drop.
struct Timer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Timer {
    fn start(program: &Path, cpu: u32) -> io::Result<Self> {
        let mut child = Command::new(program).arg(cpu.to_string()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or_else(|| io::Error::other("the program's output is not there"))?;
        Ok(Self { child, lines: BufReader::new(out).lines() })
    }

    /// The median of the next wake-ups, ns.
    fn lateness(&mut self) -> io::Result<f64> {
        let from = clock::now().plus(SETTLING);
        let mut all = Vec::new();
        while all.len() < WAKE_UPS {
            let Some(line) = self.lines.next() else {
                return Err(io::Error::other("the timer's program ended; it must be allowed fifo:80"));
            };
            let (at, lateness) = numbers(&line?).ok_or_else(|| io::Error::other("it prints two numbers"))?;
            if at >= from.as_nanos() {
                all.push(lateness);
            }
        }
        Ok(median(&all))
    }
}

fn numbers(line: &str) -> Option<(i64, f64)> {
    let (at, lateness) = line.split_once(' ')?;
    Some((at.parse().ok()?, lateness.parse().ok()?))
}

impl Drop for Timer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
