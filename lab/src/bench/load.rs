//! Do the built-in loads do as much as the programs that they stand for?
//!
//! `pipe` against `stress-ng --pipe`: context switches per second of the whole machine, as the kernel counts them.
//! `hackbench` against that of rt-tests: messages per second, from the same groups, senders, receivers and loops.
//! And does each take the configured share of its CPUs' time?

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howlate_linux::clock;
use howlate_model::Span;
use howlate_procfs::{Root, Stat};

use super::paired::Pairs;
use super::program::{built, json, output};

const PAIRS: usize = 12;
/// Time before each measurement, until all processes run.
const WARM_UP: Span = Span::from_millis(500);
const MEASURED: Span = Span::from_millis(1_500);
/// hackbench: each group has 20 senders and 20 receivers.
const GROUPS: u32 = 4;
const LOOPS: u32 = 1_000;

/// Loads whose share is checked: all built-in ones except `disk`, whose CPU time means little.
const SHARED: [&str; 9] =
    ["cpu", "pipe", "interrupt", "hackbench", "memory", "files", "network", "fork", "timers"];
const SHARES: [u32; 3] = [20, 50, 100];
const SHARED_FOR: &str = "3s";

/// Prints the shares and both comparisons.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    println!("share of the CPUs' time that loads take, in percent, where {SHARES:?} % are asked for");
    for load in SHARED {
        let taken = SHARES.map(|percent| share_taken(&howlate, &format!("{load}:{percent}%")));
        let taken = taken.into_iter().collect::<io::Result<Vec<_>>>()?;
        println!("  {load:<10} {}", taken.iter().map(|share| format!("{share:>6.1}")).collect::<String>());
    }
    let workers = std::thread::available_parallelism()?.to_string();
    let pipe = pairs(
        || switches(Command::new(&howlate).args(["load", "pipe"])),
        || switches(Command::new("stress-ng").args(["--quiet", "--pipe", &workers])),
    )?;
    println!("context switches per second, {workers} workers, all CPUs");
    println!("{}", pipe.line("pipe", "stress-ng --pipe"));
    let messages = pairs(|| our_messages(&howlate), their_messages)?;
    println!("messages per second, {GROUPS} groups, {LOOPS} loops");
    println!("{}", messages.line("hackbench", "rt-tests"));
    Ok(())
}

/// CPU time that `load` took of each of its CPUs, in percent.
fn share_taken(howlate: &Path, load: &str) -> io::Result<f64> {
    let result =
        json(Command::new(howlate).args(["load", load, "--duration", SHARED_FOR, "--json", "--quiet"]))?;
    let cpus = std::thread::available_parallelism()?.get() as f64;
    match (result["parts"][0]["cpu_ns"].as_f64(), result["elapsed_ns"].as_f64()) {
        (Some(cpu), Some(elapsed)) => Ok(100.0 * cpu / elapsed / cpus),
        _ => Err(io::Error::other(format!("howlate load does not say what it took: {result}"))),
    }
}

/// Runs both alternately, in random order.
fn pairs(ours: impl Fn() -> io::Result<f64>, reference: impl Fn() -> io::Result<f64>) -> io::Result<Pairs> {
    let mut pairs = Pairs::default();
    for _ in 0..PAIRS {
        let before = if fastrand::bool() { Some(ours()?) } else { None };
        let reference = reference()?;
        pairs.add(before.map_or_else(&ours, Ok)?, reference);
    }
    Ok(pairs)
}

/// Context switches per second while `program` runs.
fn switches(program: &mut Command) -> io::Result<f64> {
    let running = InterruptedOnDrop(program.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    clock::sleep_for(WARM_UP)?;
    let (begin, before) = (clock::now(), context_switches()?);
    clock::sleep_for(MEASURED)?;
    let (elapsed, after) = (clock::now().since(begin), context_switches()?);
    drop(running);
    Ok((after - before) as f64 / elapsed.as_secs_f64())
}

fn context_switches() -> io::Result<u64> {
    let count = Stat::read(&Root::live()).context_switches();
    count.ok_or_else(|| io::Error::other("/proc/stat has no `ctxt`"))
}

/// A program that is ended by SIGINT on drop, so that it ends its processes too.
struct InterruptedOnDrop(Child);

impl Drop for InterruptedOnDrop {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        drop(Command::new("kill").args(["-INT", &pid]).status());
        drop(self.0.wait());
    }
}

fn our_messages(howlate: &Path) -> io::Result<f64> {
    let load = format!("hackbench:groups={GROUPS}:loops={LOOPS}");
    let result = json(Command::new(howlate).args(["load", &load, "--json", "--quiet"]))?;
    let (sent, took) = (&result["parts"][0]["operations"], &result["ended"][0]["took_ns"]);
    match (sent.as_f64(), took.as_f64()) {
        (Some(sent), Some(nanos)) => Ok(sent / (nanos / 1e9)),
        _ => Err(io::Error::other(format!("howlate load did not end: {result}"))),
    }
}

/// hackbench prints the seconds since all processes were created: `Time: 0.135`.
fn their_messages() -> io::Result<f64> {
    let (groups, loops) = (GROUPS.to_string(), LOOPS.to_string());
    let printed = output(Command::new("hackbench").args(["-g", &groups, "-l", &loops]))?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let time = text.lines().find_map(|line| line.strip_prefix("Time:")?.trim().parse::<f64>().ok());
    let time = time.ok_or_else(|| io::Error::other(format!("hackbench printed no time: {text}")))?;
    Ok(f64::from(GROUPS * 20 * 20 * LOOPS) / time)
}
