//! Is a thread measured by howlate later than one measured by cyclictest?

use std::io;
use std::path::Path;
use std::process::Command;

use super::paired::Pairs;
use super::program::{built, json, output};

const PAIRS: usize = 20;
const SAMPLES: usize = 2_000;
const CPU: &str = "1";

/// Same policy, priority, CPU, period and idle-state limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    pairs(|| measure_howlate(&howlate))
}

/// The drop-in and the original with the same arguments, both printing every value.
pub fn run_drop_in() -> io::Result<()> {
    let howlate = built()?;
    pairs(|| measure_cyclictest(Command::new(&howlate).arg("cyclictest")))
}

/// Runs both alternately, in random order.
fn pairs(measure_ours: impl Fn() -> io::Result<[f64; 3]>) -> io::Result<()> {
    let mut numbers = ["min", "p50", "p99"].map(|name| (name, Pairs::default()));
    for _ in 0..PAIRS {
        let ours_first = fastrand::bool();
        let before = if ours_first { Some(measure_ours()?) } else { None };
        let reference = measure_cyclictest(&mut Command::new("cyclictest"))?;
        let ours = before.map_or_else(&measure_ours, Ok)?;
        for (place, (_, pairs)) in numbers.iter_mut().enumerate() {
            pairs.add(ours[place], reference[place]);
        }
    }
    println!("fifo:80, CPU {CPU}, period 1 ms, {SAMPLES} wake-ups a block; nanoseconds");
    numbers.iter().for_each(|(name, pairs)| println!("{}", pairs.line(name, "cyclictest")));
    Ok(())
}

fn measure_howlate(program: &Path) -> io::Result<[f64; 3]> {
    let samples = SAMPLES.to_string();
    let result = json(Command::new(program).args([
        "cyclic",
        "--threads",
        "1",
        "--cpus",
        CPU,
        "--policy",
        "fifo:80",
        "--dma-latency",
        "0us",
        "--samples",
        &samples,
        "--json",
    ]))?;
    let latency = &result["results"][0]["latency_ns"];
    Ok(["min", "p50", "p99"].map(|key| latency[key].as_f64().unwrap_or(f64::NAN)))
}

/// `-v` prints every sample: `thread: cycle: latency`.
fn measure_cyclictest(cyclictest: &mut Command) -> io::Result<[f64; 3]> {
    let loops = SAMPLES.to_string();
    let printed = output(
        cyclictest.args(["-m", "-p", "80", "-t", "1", "-a", CPU, "-i", "1000", "-l", &loops, "-N", "-v"]),
    )?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let mut samples: Vec<f64> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("0:")?.rsplit(':').next()?.trim().parse().ok())
        .collect();
    samples.sort_by(f64::total_cmp);
    let at = |share: f64| samples.get((share * samples.len() as f64).ceil() as usize - 1).copied();
    match (samples.first(), at(0.5), at(0.99)) {
        (Some(least), Some(middle), Some(late)) => Ok([*least, middle, late]),
        _ => Err(io::Error::other("cyclictest printed no samples")),
    }
}
