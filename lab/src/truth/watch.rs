//! `watch` beside a program that stamps its own wake-ups, held against when the kernel wrote that it was switched to.
//!
//! When a wake-up was due, the program says; when its thread got a CPU, the instance. Howlate's own tracer and the kernel's
//! accounts have no part in that.

use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::claims::{Claim, Scores, score};
use super::contenders::{Manner, Rivals};
use super::sleeper::{Sleeper, Stamp, stamps};
use super::turns::{OnCpu, turns};
use super::witness::{Instance, OF_THREADS};

/// Microseconds by which two readings of the clock at one switch may differ: one is cut to microseconds, and whichever tracer
/// comes second is later by what the first takes.
const NEAR: i64 = 3;
/// Buckets of a distribution are at most this much of a value wide.
const BUCKET: f64 = 1.0 / 64.0;

const PERIOD_US: u64 = 2_000;

/// Ordinary rivals on every CPU, for `seconds`, with the tracers that see timers; then without a tracer.
pub fn attack(program: &Path, sleeper: &Sleeper, seconds: u64, scores: &mut Scores) -> io::Result<()> {
    let wakeups = seconds * 1_000_000 / PERIOD_US;
    for tracer in ["bpf", "tracefs"] {
        let (result, stamps, turns) = once(program, sleeper, wakeups, &["--tracer", tracer])?;
        with_timers(&result, &stamps, &turns, scores);
    }
    let (result, _, turns) = once(program, sleeper, wakeups, &[])?;
    without_tracer(&result, &turns, scores);
    Ok(())
}

/// One run; `options` empty: as nobody, who may not trace.
fn once(
    program: &Path,
    sleeper: &Sleeper,
    wakeups: u64,
    options: &[&str],
) -> io::Result<(Value, Vec<Stamp>, Vec<OnCpu>)> {
    let instance = Instance::create("witness-watch", OF_THREADS)?;
    let rivals = Rivals::start(&["rival-a", "rival-b", "rival-c", "rival-d"], Manner::default());
    let mut watching = if options.is_empty() { as_nobody(program) } else { Command::new(program) };
    watching.args(["watch", "--json", "--quiet", "--no-save"]).args(options).arg("--");
    watching.args(sleeper.command(PERIOD_US, wakeups, &[]).split_whitespace());
    let output = watching.output()?;
    drop(rivals);
    let text = instance.text()?;
    // What the program prints is on the standard error, as the result is to stand alone.
    let said = String::from_utf8_lossy(&output.stderr);
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Err(io::Error::other(format!("watch: {}", said.lines().last().unwrap_or_default())));
    };
    let results = document["results"].as_array().into_iter().flatten();
    // Its own wake-ups: by its timer, or where nobody sees by what.
    let mechanism = if options.is_empty() { "unseen" } else { "timer" };
    let mut of_program = results.filter(|one| one["condition"]["name"] == "sleeper");
    let result = of_program.find(|one| one["condition"]["mechanism"] == mechanism).cloned();
    let Some(result) = result else { return Err(io::Error::other("watch saw nothing of the sleeper")) };
    let tid = result["in_force"]["tid"].as_u64().and_then(|tid| u32::try_from(tid).ok());
    let turns = tid.and_then(|tid| turns(&text).remove(&tid)).unwrap_or_default();
    Ok((result, stamps(&said), turns))
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
    command.env("HOME", "/nonexistent");
    command
}

/// When a sleep that was due then ended on a CPU, where the thread slept until then.
fn switched_in(stamp: &Stamp, turns: &[OnCpu]) -> Option<i64> {
    let due = stamp.due / 1_000;
    let one = turns.get(turns.partition_point(|one| one.from < due))?;
    one.left.is_some_and(|(left, slept)| slept && left <= due).then_some(one.from)
}

fn with_timers(result: &Value, stamps: &[Stamp], turns: &[OnCpu], scores: &mut Scores) {
    let known: Vec<(i64, f64)> = stamps
        .iter()
        .filter_map(|stamp| switched_in(stamp, turns).map(|at| (at, (at - stamp.due / 1_000) as f64)))
        .collect();
    let count = result["count"].as_u64().unwrap_or(0);
    // Where it was not asleep when it was due, whether it slept after that the witness does not say; the program wakes once for
    // each stamp at most.
    let possible = known.len() as u64..=stamps.len() as u64;
    let counted = || format!("watch counted {count}, the witness {possible:?}");
    // The first or the last may be lost as the program begins or ends.
    score(scores, Claim::WatchCounts, possible.contains(&count) || possible.contains(&(count + 1)), counted);
    for worst in result["worst"].as_array().into_iter().flatten() {
        let micros = |name: &str| worst[name].as_i64().unwrap_or(0) / 1_000;
        let (at, latency) = (micros("at_ns"), micros("latency_ns"));
        let near = known.iter().min_by_key(|(known, _)| (known - at).abs());
        let is_so = near.is_some_and(|(known, late)| {
            (known - at).abs() <= NEAR && (*late as i64 - latency).abs() <= NEAR
        });
        score(scores, Claim::WatchWorst, is_so, || format!("{worst}, the witness: {near:?}"));
    }
    let mut late: Vec<f64> = known.iter().map(|(_, late)| *late).collect();
    late.sort_by(f64::total_cmp);
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        let told = result["latency_ns"][name].as_f64().unwrap_or(0.0) / 1_000.0;
        let rank = ((late.len() as f64 * quantile).ceil() as usize).clamp(1, late.len().max(1)) - 1;
        // One wake-up more or less moves a percentile by a rank.
        let around =
            late.get(rank.saturating_sub(1)).zip(late.get((rank + 1).min(late.len().saturating_sub(1))));
        let is_so = around.is_some_and(|(below, above)| {
            let near = NEAR as f64;
            told >= below * (1.0 - BUCKET) - near && told <= above * (1.0 + BUCKET) + near
        });
        score(scores, Claim::WatchPercentiles, is_so, || {
            format!("{name} {told} µs, the witness: {around:?}")
        });
    }
}

/// The kernel's accounts are looked at every 50 ms: what comes after the last look is missing. Nothing may be too much.
fn without_tracer(result: &Value, turns: &[OnCpu], scores: &mut Scores) {
    let told = result["rhythm"]["run_queue"]["waited_ns"].as_f64().unwrap_or(0.0) / 1_000.0;
    let known: i64 = turns.iter().filter_map(OnCpu::waited).sum();
    let most = known as f64 * 1.01 + (NEAR * turns.len() as i64) as f64;
    let what = || format!("{told} µs in all, the witness: {known} in {} turns", turns.len());
    score(scores, Claim::WatchAccounts, told <= most, what);
}
