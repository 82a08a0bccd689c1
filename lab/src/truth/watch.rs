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
    let stderr = String::from_utf8_lossy(&output.stderr);
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Err(io::Error::other(format!("watch: {}", stderr.lines().last().unwrap_or_default())));
    };
    let results = document["results"].as_array().into_iter().flatten();
    // Its own wake-ups: by its timer, or where nobody sees by what.
    let mechanism = if options.is_empty() { "unseen" } else { "timer" };
    let mut of_program = results.filter(|late| late["condition"]["name"] == "sleeper");
    let result = of_program.find(|late| late["condition"]["mechanism"] == mechanism).cloned();
    let Some(mut result) = result else { return Err(io::Error::other("watch saw nothing of the sleeper")) };
    let caveats = document["caveats"].as_array().into_iter().flatten();
    let missed =
        caveats.filter(|late| late["caveat"] == "wakeups_not_seen").filter_map(|late| late["count"].as_u64());
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

/// How late a wake-up was, in microseconds: at least and at most.
#[derive(Clone, Copy, Debug)]
struct Late {
    due: i64,
    least: i64,
    most: i64,
}

impl Late {
    /// Of a sleep that was due then, where the thread slept until then. A switch that was not seen is between the wake-up and what
    /// the program stamped.
    fn of(stamp: &Stamp, turns: &[OnCpu]) -> Option<Self> {
        let due = stamp.due / 1_000;
        let late = turns.get(turns.partition_point(|late| late.from.0 < due))?;
        late.left.filter(|(left, slept)| *slept && *left <= due)?;
        let (least, most) = late.from;
        Some(Self { due, least: least - due, most: most.min(stamp.ran / 1_000).max(least) - due })
    }

    /// Whether it is the wake-up that ran then and was so late.
    fn is(&self, at: i64, late: i64) -> bool {
        let near = self.least - NEAR..=self.most + NEAR;
        near.contains(&late) && near.contains(&(at - self.due))
    }
}

fn with_timers(result: &Value, stamps: &[Stamp], turns: &[OnCpu], scores: &mut Scores) {
    let certain: Vec<Late> = stamps.iter().filter_map(|stamp| Late::of(stamp, turns)).collect();
    let count = result["count"].as_u64().unwrap_or(0);
    // Those that it says it has not seen are told as well.
    let reported = count..=count + result["not_seen"].as_u64().unwrap_or(0);
    // Where it was not asleep when it was due, whether it slept after that the witness does not say; the program wakes once for
    // each stamp at most.
    let possible = certain.len() as u64..=stamps.len() as u64;
    let counted = || format!("watch counted {reported:?}, the witness {possible:?}");
    // The first or the last may be lost as the program begins or ends.
    let is_so = *reported.end() + 1 >= *possible.start() && *reported.start() <= *possible.end();
    score(scores, Claim::WatchCounts, is_so, counted);
    for worst in result["worst"].as_array().into_iter().flatten() {
        let micros = |name: &str| worst[name].as_i64().unwrap_or(0) / 1_000;
        let (at, latency) = (micros("at_ns"), micros("latency_ns"));
        let is_so = certain.iter().any(|late| late.is(at, latency));
        let near = || certain.iter().min_by_key(|late| (late.due + late.least - at).abs());
        score(scores, Claim::WatchWorst, is_so, || format!("{worst}, the witness: {:?}", near()));
    }
    let (least, most) =
        (sorted(certain.iter().map(|late| late.least)), sorted(certain.iter().map(|late| late.most)));
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        let reported = result["latency_ns"][name].as_f64().unwrap_or(0.0) / 1_000.0;
        let rank = (certain.len() as f64 * quantile).ceil() as usize;
        // One wake-up more or less moves a percentile by a rank.
        let at = |late: &[i64], rank: usize| late.get(rank.clamp(1, late.len().max(1)) - 1).copied();
        let around = at(&least, rank.saturating_sub(1)).zip(at(&most, rank + 1));
        let is_so = around.is_some_and(|(below, above)| {
            let (below, above) = ((below - NEAR) as f64, (above + NEAR) as f64);
            reported >= below * (1.0 - BUCKET) && reported <= above * (1.0 + BUCKET)
        });
        score(scores, Claim::WatchPercentiles, is_so, || {
            format!("{name} {reported} µs, the witness: {around:?}")
        });
    }
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
}

/// The kernel's accounts are looked at every 50 ms: what comes after the last look is missing. Nothing may be too much.
fn without_tracer(result: &Value, turns: &[OnCpu], scores: &mut Scores) {
    let reported = result["rhythm"]["run_queue"]["waited_ns"].as_f64().unwrap_or(0.0) / 1_000.0;
    let certain: i64 = turns.iter().filter_map(OnCpu::waited).sum();
    let most = certain as f64 * 1.01 + (NEAR * turns.len() as i64) as f64;
    let what = || format!("{reported} µs in all, the witness: {certain} in {} turns", turns.len());
    score(scores, Claim::WatchAccounts, reported <= most, what);
}
