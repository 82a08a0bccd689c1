//! `howlate gaps` and oslat: the time per iteration compared with a bare loop in C, and whether the interruptions by a hog that stamps
//! its own times are found with the right count and length.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::paired::median;
use super::program::{built, compiled, json, output};
use super::why::limit::{BenchFigure, BenchLimits};

/// Limit of the time per iteration, as a multiple of the bare loop's.
const MOST_PER_TURN: f64 = 1.1;
/// Limit of the error of count and sum, percent.
const MOST_OFF: f64 = 2.0;
const ROUNDS: usize = 7;
/// How often the hog takes the CPU. The spinners run before and afterwards, even if it starts a second late on a busy machine.
const TAKEN: &str = "200";
const SECONDS: &str = "8";
/// For how long, µs. A gap includes the context switches, which the hog's stamps do not: up to 30 µs on a virtual machine, too much
/// compared with shorter times.
const LENGTH: u64 = 2_000;
/// For oslat, whose histogram ends at 1 024 µs.
const LENGTH_FOR_OSLAT: u64 = 900;
/// Priority of the spinners, so that only the hog interrupts them, apart from real-time throttling.
const PRIORITY: &str = "10";

/// Prints all figures; fails if one is above its limit.
pub fn run() -> io::Result<()> {
    let (howlate, folder) = (built()?, tempfile::tempdir()?);
    let program = compiled("bench/gaps.c", folder.path())?;
    let cpu = last_cpu()?;
    let bench = Bench { howlate: &howlate, program: &program, folder: folder.path(), cpu: &cpu };
    let mut limits = BenchLimits::default();
    bench.turns(&mut limits)?;
    bench.hog(&mut limits)?;
    limits.verdict()
}

/// The CPU with the highest number: the first ones have more interrupts.
fn last_cpu() -> io::Result<String> {
    let cpus = howlate_linux::sched::affinity()?;
    let last = cpus.iter().last().filter(|_| cpus.len() > 1);
    last.map(|cpu| cpu.to_string()).ok_or_else(|| io::Error::other("at least two CPUs are needed"))
}

struct Bench<'a> {
    howlate: &'a Path,
    program: &'a Path,
    folder: &'a Path,
    cpu: &'a str,
}

impl Bench<'_> {
    /// The time per iteration of each loop without its gaps, in alternating rounds.
    fn turns(&self, limits: &mut BenchLimits) -> io::Result<()> {
        let (mut ours, mut bare, mut reference) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(self.bare()?);
            ours.push(turn(&json(self.gaps("1").args(["--duration", "1s", "--tracer", "none"]))?));
            if let Some(run) = self.oslat("1")? {
                reference.push(oslat_turn(&run));
            }
        }
        let ratio = median(&ours) / median(&bare);
        println!(
            "a turn: bare loop {:.2} ns, howlate {:.2} ns{}",
            median(&bare),
            median(&ours),
            beside(&reference)
        );
        let name = "a turn, of the bare loop's";
        limits.judge(&BenchFigure { name, value: ratio, interval: None, most: MOST_PER_TURN, unit: "times" });
        Ok(())
    }

    fn bare(&self) -> io::Result<f64> {
        let printed = output(Command::new(self.program).args(["loop", self.cpu, "1"]))?.stdout;
        String::from_utf8_lossy(&printed).trim().parse().map_err(io::Error::other)
    }

    fn gaps(&self, above: &str) -> Command {
        let mut command = Command::new(self.howlate);
        command.args([
            "gaps",
            "--json",
            "--details",
            "--quiet",
            "--cpus",
            self.cpu,
            "--above",
            &format!("{above}us"),
        ]);
        command
    }

    /// `None` if oslat is not installed.
    fn oslat(&self, seconds: &str) -> io::Result<Option<Value>> {
        let file = self.folder.join("oslat.json");
        let mut command = Command::new("oslat");
        command.args(["-q", "-b", "1024", "-D", seconds, "-c", self.cpu, "-f", PRIORITY]);
        command.arg(format!("--json={}", file.display())).stdout(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => {
                Ok(Some(serde_json::from_slice(&std::fs::read(file)?).map_err(io::Error::other)?))
            }
            _ => Ok(None),
        }
    }

    /// Count and sum of a hog's times, by its own stamps, by howlate, and by oslat with the hog again.
    fn hog(&self, limits: &mut BenchLimits) -> io::Result<()> {
        let (hog, run) = self.beside_hog(LENGTH, |bench| {
            let policy = format!("fifo:{PRIORITY}");
            json(bench.gaps("1").args(["--duration", &format!("{SECONDS}s"), "--policy", &policy]))
        })?;
        println!("the hog: {hog:?}");
        match named(&run, "gaps-hog") {
            Some(found) => {
                print_found("howlate, by name", found);
                // As many gaps as times, except for times that may have begun within another gap.
                let gaps = found.0.clamp(hog.times - hog.late, hog.times);
                judge(limits, "by name", (gaps, hog.cpu_ns), found);
            }
            None => println!("not judged: who had the CPU is not known here: {}", run["refused"]),
        }
        // Other interruptions just before or after make a gap longer: on a busy machine, errors are larger with any tool.
        let found = by_length(&run);
        print_off("howlate, by length", &hog, found);
        judge(limits, "by length", (hog.whole, hog.whole_ns), found);
        let (hog, run) = self.beside_hog(LENGTH_FOR_OSLAT, |bench| bench.oslat(SECONDS))?;
        if let Some(run) = run {
            print_off("oslat, by length", &hog, long_ones(&run));
        }
        Ok(())
    }

    fn beside_hog<T>(&self, length: u64, measure: impl Fn(&Self) -> io::Result<T>) -> io::Result<(Hog, T)> {
        // It starts after the spinners' warm-up: half a second, or a second for oslat.
        let later: Child = Command::new("sh")
            .args(["-c", "sleep 1.2; exec \"$@\"", "sh"])
            .arg(self.program)
            .args(["hog", self.cpu, TAKEN, &length.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let run = measure(self)?;
        let printed = later.wait_with_output()?.stdout;
        let text = String::from_utf8_lossy(&printed).into_owned();
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [times, cpu_ns, late, whole, whole_ns] = numbers[..] else {
            return Err(io::Error::other("the hog printed nothing"));
        };
        Ok((Hog { times, cpu_ns, late, whole, whole_ns }, run))
    }
}

/// The hog's own stamps, summed up.
#[derive(Debug)]
struct Hog {
    times: u64,
    cpu_ns: u64,
    /// Times that began late, as the CPU was taken until then: they may not be gaps of their own.
    late: u64,
    /// Times that began punctually and were not interrupted.
    whole: u64,
    whole_ns: u64,
}

/// Time of an iteration without a gap, ns.
fn turn(run: &Value) -> f64 {
    let number = |name: &str| run["gaps"][0][name].as_f64().unwrap_or(f64::NAN);
    (number("lasted_ns") - number("total_ns")) / (number("turns") - number("count"))
}

/// oslat's time of an iteration, ns: its histogram rounds gaps up to whole µs.
fn oslat_turn(run: &Value) -> f64 {
    let thread = &run["thread"]["0"];
    let buckets = thread["histogram"].as_object().into_iter().flatten();
    let counts = buckets.filter_map(|(at, count)| Some((at.parse::<f64>().ok()?, count.as_f64()?)));
    let (mut short, mut taken) = (0.0, 0.0);
    for (micros, count) in counts {
        if micros <= 1.0 { short += count } else { taken += (micros - 0.5) * count }
    }
    (thread["duration"].as_f64().unwrap_or(f64::NAN) * 1e9 - taken * 1e3) / short
}

fn beside(reference: &[f64]) -> String {
    if reference.is_empty() {
        ", oslat is not installed".to_owned()
    } else {
        format!(", oslat {:.2} ns", median(reference))
    }
}

/// Number of the gaps of a thread, and their sum.
fn named(run: &Value, name: &str) -> Option<(u64, u64)> {
    let by = run["gaps"][0]["by"].as_array()?;
    let share = by.iter().find(|share| share["kind"] == "thread" && share["name"] == name)?;
    Some((share["in_gaps"].as_u64()?, share["total_ns"].as_u64()?))
}

/// Range of gap lengths for times of `length`, µs.
fn lengths(length: u64) -> std::ops::Range<u64> {
    length - length / 20..length + length / 8
}

/// Number of the gaps that are as long as the hog's times, and their sum.
fn by_length(run: &Value) -> (u64, u64) {
    let buckets = run["gaps"][0]["histogram"].as_array().into_iter().flatten();
    let number = |bucket: &Value, name: &str| bucket[name].as_u64().unwrap_or(0);
    let middle = |bucket: &Value| (number(bucket, "from_ns") + number(bucket, "to_ns")) / 2;
    let are_its = buckets.filter(|bucket| lengths(LENGTH).contains(&(middle(bucket) / 1_000)));
    are_its.fold((0, 0), |(gaps, sum), bucket| {
        let count = number(bucket, "count");
        (gaps + count, sum + count * middle(bucket))
    })
}

/// Number of oslat's gaps that are as long, and their sum.
fn long_ones(run: &Value) -> (u64, u64) {
    let buckets = run["thread"]["0"]["histogram"].as_object().into_iter().flatten();
    let counts = buckets.filter_map(|(at, count)| Some((at.parse::<u64>().ok()?, count.as_u64()?)));
    counts
        .filter(|(at, _)| lengths(LENGTH_FOR_OSLAT).contains(at))
        .fold((0, 0), |(gaps, sum), (at, count)| (gaps + count, sum + (at * 1_000 - 500) * count))
}

fn off(stamped: u64, found: u64) -> f64 {
    (found as f64 / stamped as f64 - 1.0).abs() * 100.0
}

fn print_found(who: &str, (count, nanos): (u64, u64)) {
    println!("{who}: {count} times, {nanos} ns");
}

/// Prints count and sum with their errors, in percent of the hog's uninterrupted times.
fn print_off(who: &str, hog: &Hog, found: (u64, u64)) {
    print_found(who, found);
    println!("  off by {:.2} % and {:.2} %", off(hog.whole, found.0), off(hog.whole_ns, found.1));
}

fn judge(limits: &mut BenchLimits, how: &str, hog: (u64, u64), found: (u64, u64)) {
    for (what, value) in [("count", off(hog.0, found.0)), ("sum", off(hog.1, found.1))] {
        let name = format!("{what} of the hog's times, {how}: off by");
        limits.judge(&BenchFigure { name: &name, value, interval: None, most: MOST_OFF, unit: "%" });
    }
}
