//! `watch` beside a program that stamps its own wake-ups, held against when the kernel wrote that it was switched to.
//!
//! When a wake-up was due, the program says; when its thread got a CPU, the instance. Howlate's own tracer and the kernel's
//! accounts have no part in that.

use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::claims::{Scores, TruthClaim, score};
use super::contenders::{RivalOptions, Rivals};
use super::sleeper::{SleeperProgram, Stamp, stamps};
use super::turns::{OnCpu, turns};
use super::witness::{Instance, OF_THREADS};

/// Microseconds by which two readings of the clock at one switch may differ: one is cut to microseconds, and whichever tracer
/// comes second is later by what the first takes.
const NEAR: i64 = 3;
/// Largest relative width of a histogram's buckets.
const BUCKET: f64 = 1.0 / 64.0;

const PERIOD_US: u64 = 2_000;

/// Watches the sleeper beside ordinary rivals for `seconds`, with each tracer that sees timers, then without a tracer.
pub fn attack(program: &Path, sleeper: &SleeperProgram, seconds: u64, scores: &mut Scores) -> io::Result<()> {
    let wakeups = seconds * 1_000_000 / PERIOD_US;
    for tracer in ["bpf", "tracefs"] {
        let (result, stamps, turns) = once(program, sleeper, wakeups, &["--tracer", tracer])?;
        with_timers(tracer, &result, &stamps, &turns, scores);
    }
    let (result, _, turns) = once(program, sleeper, wakeups, &[])?;
    without_tracer(&result, &turns, scores);
    Ok(())
}

/// One run; with empty `options` as the user `nobody`, who may not trace.
fn once(
    program: &Path,
    sleeper: &SleeperProgram,
    wakeups: u64,
    options: &[&str],
) -> io::Result<(Value, Vec<Stamp>, Vec<OnCpu>)> {
    let instance = Instance::create("witness-watch", OF_THREADS)?;
    let rivals = Rivals::start(&["rival-a", "rival-b", "rival-c", "rival-d"], RivalOptions::default());
    let mut watching = if options.is_empty() { as_nobody(program) } else { Command::new(program) };
    watching.args(["watch", "--json", "--details", "--quiet", "--no-save"]).args(options).arg("--");
    watching.args(sleeper.command(PERIOD_US, wakeups, &[]).split_whitespace());
    let output = watching.output()?;
    drop(rivals);
    let text = instance.text()?;
    // With `--json`, the watched program's output goes to standard error.
    let stderr = String::from_utf8_lossy(&output.stderr);
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Err(io::Error::other(format!("watch: {}", stderr.lines().last().unwrap_or_default())));
    };
    let results = document["results"].as_array().into_iter().flatten();
    // The sleeper's wake-ups by its timer; without a tracer the mechanism is unknown.
    let mechanism = if options.is_empty() { "unseen" } else { "timer" };
    let mut of_program = results.filter(|result| result["condition"]["name"] == "sleeper");
    let result = of_program.find(|result| result["condition"]["mechanism"] == mechanism).cloned();
    let Some(mut result) = result else { return Err(io::Error::other("watch saw nothing of the sleeper")) };
    let caveats = document["caveats"].as_array().into_iter().flatten();
    let missed = caveats
        .filter(|caveat| caveat["caveat"] == "wakeups_not_seen")
        .filter_map(|caveat| caveat["count"].as_u64());
    result["not_seen"] = missed.sum::<u64>().into();
    let tid = result["in_force"]["tid"].as_u64().and_then(|tid| u32::try_from(tid).ok());
    let turns = tid.and_then(|tid| turns(&text).remove(&tid)).unwrap_or_default();
    Ok((result, stamps(&stderr), turns))
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
    command.env("HOME", "/nonexistent");
    command
}

/// Bounds of a wake-up's lateness, µs.
#[derive(Clone, Copy, Debug)]
struct Late {
    due: i64,
    least: i64,
    most: i64,
}

impl Late {
    /// `None` unless the thread slept when it was due. A switch without an event is between the wake-up and the program's own stamp.
    fn of(stamp: &Stamp, turns: &[OnCpu]) -> Option<Self> {
        let due = stamp.due / 1_000;
        let turn = turns.get(turns.partition_point(|turn| turn.from.0 < due))?;
        turn.left.filter(|(left, slept)| *slept && *left <= due)?;
        let (least, most) = turn.from;
        Some(Self { due, least: least - due, most: most.min(stamp.ran / 1_000).max(least) - due })
    }

    /// Whether it is the wake-up that ran at `at` with the lateness `late`.
    fn is(&self, at: i64, late: i64) -> bool {
        let near = self.least - NEAR..=self.most + NEAR;
        near.contains(&late) && near.contains(&(at - self.due))
    }
}

fn with_timers(tracer: &str, result: &Value, stamps: &[Stamp], turns: &[OnCpu], scores: &mut Scores) {
    let certain: Vec<Late> = stamps.iter().filter_map(|stamp| Late::of(stamp, turns)).collect();
    let count = result["count"].as_u64().unwrap_or(0);
    // Wake-ups that howlate reports as not seen may or may not have been counted.
    let reported = count..=count + result["not_seen"].as_u64().unwrap_or(0);
    // If the thread was still awake when it was due, it may have slept afterwards or not: at most one wake-up per stamp.
    let possible = certain.len() as u64..=stamps.len() as u64;
    let counted = || format!("{tracer}: watch counted {reported:?}, the witness {possible:?}");
    // The first or the last wake-up may be lost when the program starts or ends.
    let is_so = *reported.end() + 1 >= *possible.start() && *reported.start() <= *possible.end();
    score(scores, TruthClaim::WatchCounts, is_so, counted);
    for worst in result["worst"].as_array().into_iter().flatten() {
        let micros = |name: &str| worst[name].as_i64().unwrap_or(0) / 1_000;
        let (at, latency) = (micros("at_ns"), micros("latency_ns"));
        let is_so = certain.iter().any(|late| late.is(at, latency));
        let near = || certain.iter().min_by_key(|late| (late.due + late.least - at).abs());
        score(scores, TruthClaim::WatchWorst, is_so, || format!("{worst}, the witness: {:?}", near()));
    }
    let (least, most) =
        (sorted(certain.iter().map(|late| late.least)), sorted(certain.iter().map(|late| late.most)));
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        let reported = result["latency_ns"][name].as_f64().unwrap_or(0.0) / 1_000.0;
        let rank = (certain.len() as f64 * quantile).ceil() as usize;
        // One wake-up more or less moves a percentile by a rank.
        let at = |sorted: &[i64], rank: usize| sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied();
        let around = at(&least, rank.saturating_sub(1)).zip(at(&most, rank + 1));
        let is_so = around.is_some_and(|(below, above)| {
            let (below, above) = ((below - NEAR) as f64, (above + NEAR) as f64);
            reported >= below * (1.0 - BUCKET) && reported <= above * (1.0 + BUCKET)
        });
        score(scores, TruthClaim::WatchPercentiles, is_so, || {
            format!("{name} {reported} µs, the witness: {around:?}")
        });
    }
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
}

/// howlate reads the kernel's accounting every 50 ms, so that the last part may be missing, but it must not report too much.
fn without_tracer(result: &Value, turns: &[OnCpu], scores: &mut Scores) {
    let reported = result["rhythm"]["run_queue"]["waited_ns"].as_f64().unwrap_or(0.0) / 1_000.0;
    let certain: i64 = turns.iter().filter_map(OnCpu::waited).sum();
    let most = certain as f64 * 1.01 + (NEAR * turns.len() as i64) as f64;
    let what = || format!("{reported} µs in all, the witness: {certain} in {} turns", turns.len());
    score(scores, TruthClaim::WatchAccounts, reported <= most, what);
}
