//! `cargo xtask bench notify`: what measuring adds to a notification.
//!
//! `howlate notify` and a minimal C program take turns, so that what else the machine does hits
//! both alike; the ratio of their medians is the cost of the instrument. Needs `cc`, and the
//! right to real-time priorities. `HOWLATE_BENCH_CPUS`: sender's and receiver's CPU, `0,1` if unset.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use super::program::{built, compiled};

/// Mechanisms, and the ratio that they may reach.
const LIMITS: [(&str, f64); 4] = [("busy_wait", 1.10), ("futex", 1.05), ("pipe", 1.05), ("eventfd", 1.05)];
/// Sleep before each notification, messages per turn, pairs of turns.
const GAP_NS: u64 = 200_000;
const MESSAGES: u64 = 1_000;
const PAIRS: usize = 21;
const PRIORITY: &str = "80";

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Prints a table; fails when a limit is exceeded.
pub(super) fn run() -> std::io::Result<()> {
    measure().map_err(|error| std::io::Error::other(error.to_string()))
}

fn measure() -> Fallible<()> {
    let pairs = PAIRS;
    let cpus = std::env::var("HOWLATE_BENCH_CPUS").unwrap_or_else(|_| "0,1".to_owned());
    let cpus = cpus.as_str();
    let folder = tempfile::tempdir()?;
    let (ping, howlate) = (compiled("bench/ping.c", folder.path())?, built()?);
    let mut text =
        format!("{:10} {:>10} {:>10} {:>16} {:>7}\n", "mechanism", "ping ns", "howlate ns", "ratio", "limit");
    let mut exceeded = Vec::new();
    for (mechanism, limit) in LIMITS {
        let turn = |number: usize| -> Fallible<(f64, f64)> {
            let first = if number.is_multiple_of(2) { Some(run_ping(&ping, mechanism, cpus)?) } else { None };
            let ours = run_howlate(&howlate, mechanism, cpus)?;
            let reference = first.map_or_else(|| run_ping(&ping, mechanism, cpus), Ok)?;
            Ok((reference, ours))
        };
        let both: Vec<(f64, f64)> = (0..pairs).map(turn).collect::<Fallible<_>>()?;
        let of = |which: fn(&(f64, f64)) -> f64| sorted(both.iter().map(which).collect());
        let (reference, ours) = (of(|pair| pair.0), of(|pair| pair.1));
        let ratios = of(|pair| pair.1 / pair.0);
        let (middle, spread) = (pairs / 2, pairs / 4);
        let quartiles =
            format!("{:.3} ({:.2}-{:.2})", ratios[middle], ratios[spread], ratios[pairs - 1 - spread]);
        text += &format!(
            "{mechanism:10} {:>10.0} {:>10.0} {quartiles:>16} {limit:>7.2}\n",
            reference[middle], ours[middle]
        );
        if ratios[middle] > limit {
            exceeded.push(mechanism);
        }
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    if exceeded.is_empty() { Ok(()) } else { Err(format!("limit exceeded: {}", exceeded.join(", ")).into()) }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn run_ping(program: &Path, mechanism: &str, cpus: &str) -> Fallible<f64> {
    let mut command = Command::new(program);
    command.args([mechanism, &GAP_NS.to_string(), &MESSAGES.to_string()]);
    let output = command.args(cpus.split(',')).arg(PRIORITY).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

fn run_howlate(program: &Path, mechanism: &str, cpus: &str) -> Fallible<f64> {
    let (gap, messages, policy) = (format!("{GAP_NS}ns"), MESSAGES.to_string(), format!("fifo:{PRIORITY}"));
    let mut command = Command::new(program);
    command.args([
        "notify",
        "--mechanism",
        mechanism,
        "--after",
        &gap,
        "--samples",
        &messages,
        "--pair",
        cpus,
    ]);
    let output =
        command.args(["--policy", &policy, "--rounds", "1", "--json", "--details", "--quiet"]).output()?;
    let result: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    result["results"][0]["latency_ns"]["p50"].as_f64().ok_or_else(|| "no median".into())
}
