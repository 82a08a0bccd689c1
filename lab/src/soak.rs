//! `cargo xtask soak`: one long measurement, to see whether memory, descriptors or recording grow.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use howlate_linux::clock;
use howlate_model::{Line, Span, WaitClock};
use howlate_recording::Reader;

use crate::bench::built;

/// Samples of the running program.
const SAMPLES: u64 = 120;
/// Memory may differ by this much between the first and the last sixth: the first and the last hour of six.
const GROWTH: u64 = 1 << 20;
/// Threads that are measured, each explained.
const THREADS: u64 = 4;
/// Limit of the recording, bytes: at most 1024 blocks, as `docs/recording.md` promises, and up to 300 kB of causes per thread for each
/// of the twenty traced turns, independent of their length. Twice that, until neighbouring blocks are joined.
const LARGEST: u64 = 2 * ((4 << 20) + THREADS * 20 * 300_000);

/// `--for`: time, 24 h by default; `--period`: 1 ms by default; a shorter one needs less time for as many wake-ups.
pub fn run(arguments: &[&str]) -> ExitCode {
    let ran = options(arguments).map_err(io::Error::other).and_then(|(time, period)| soak(time, period));
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// For how long, and the period.
fn options(arguments: &[&str]) -> Result<(Span, Span), String> {
    let (mut time, mut period) = (Span::from_secs(24 * 3_600), Span::from_millis(1));
    for pair in arguments.chunks(2) {
        let ["--for" | "--period", value] = pair else {
            return Err("usage: cargo xtask soak [--for 24h] [--period 1ms]".to_owned());
        };
        let value = value.parse::<Span>().map_err(|error| error.to_string())?;
        *(if pair[0] == "--for" { &mut time } else { &mut period }) = value;
    }
    Ok((time, period))
}

/// Resources of the program at one moment.
#[derive(Clone, Copy, Debug)]
struct ResourceSample {
    after: Span,
    memory: u64,
    descriptors: u64,
    recording: u64,
}

/// Whether all is well.
fn soak(time: Span, period: Span) -> io::Result<bool> {
    let program = built()?;
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("soak.jsonl");
    let mut command = Command::new(program);
    command.args([
        "cyclic",
        "--why",
        "--threads",
        &THREADS.to_string(),
        "--period",
        &period.to_string(),
        "--quiet",
    ]);
    // Half of the time: without the tracer, `--why` measures as long again.
    command
        .args(["--duration", &Span::from_nanos(time.as_nanos() / 2).to_string(), "--out"])
        .arg(&out)
        .stdout(Stdio::null());
    let clocks = clocks();
    let mut child = command.spawn()?;
    let samples = samples(&mut child, time, &out)?;
    let status = child.wait()?;
    let drift = drift(clocks, self::clocks());
    println!("clock: CLOCK_MONOTONIC went {drift:+.1} ppm against CLOCK_REALTIME");
    let counts = counts(&out, period)?;
    println!("{counts}");
    Ok(judge(&samples) & counts.is_whole() & (status.code() == Some(0)))
}

/// `CLOCK_MONOTONIC` and `CLOCK_REALTIME`, in nanoseconds.
fn clocks() -> (i64, i64) {
    (clock::now().as_nanos(), clock::now_on(WaitClock::Realtime))
}

/// Parts in a million by which the first clock was faster than the second.
fn drift(before: (i64, i64), after: (i64, i64)) -> f64 {
    let (first, second) = ((after.0 - before.0) as f64, (after.1 - before.1) as f64);
    (first / second - 1.0) * 1e6
}

fn samples(child: &mut Child, time: Span, out: &Path) -> io::Result<Vec<ResourceSample>> {
    let every = Span::from_nanos((time.as_nanos() / SAMPLES).max(1_000_000_000));
    let began = clock::now();
    let mut samples = Vec::new();
    println!("{:>10} {:>14} {:>12} {:>16}", "after", "memory KiB", "descriptors", "recording bytes");
    loop {
        clock::sleep_for(every)?;
        if child.try_wait()?.is_some() {
            return Ok(samples);
        }
        if let Some(sample) = sample(child.id(), clock::now().since(began), out) {
            println!(
                "{:>9.0}s {:>14} {:>12} {:>16}",
                sample.after.as_secs_f64(),
                sample.memory / 1_024,
                sample.descriptors,
                sample.recording
            );
            samples.push(sample);
        }
    }
}

/// `None` if the process is ending.
fn sample(process: u32, after: Span, out: &Path) -> Option<ResourceSample> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    // Without pages of files, which the kernel drops and reloads as it likes.
    let kibibytes: u64 = ["RssAnon:", "RssShmem:", "VmSwap:"]
        .iter()
        .map(|field| kibibytes(&status, field))
        .sum::<Option<_>>()?;
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64;
    let recording = fs::metadata(out).ok()?.len();
    Some(ResourceSample { after, memory: kibibytes * 1_024, descriptors, recording })
}

/// A field of `/proc/PID/status`.
fn kibibytes(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    value.trim().trim_end_matches(" kB").parse().ok()
}

/// Prints the growth; whether all limits hold.
fn judge(samples: &[ResourceSample]) -> bool {
    let sixth = samples.len() / 6;
    let (Some(first), Some(last)) = (samples.get(..sixth), samples.get(samples.len() - sixth..)) else {
        return false;
    };
    let most = |samples: &[ResourceSample], of: fn(&ResourceSample) -> u64| {
        samples.iter().map(of).max().unwrap_or_default()
    };
    let memory = most(last, |sample| sample.memory).saturating_sub(most(first, |sample| sample.memory));
    let descriptors =
        most(last, |sample| sample.descriptors).saturating_sub(most(first, |sample| sample.descriptors));
    let recording = most(samples, |sample| sample.recording);
    let verdict = |is_well: bool| if is_well { "ok" } else { "GREW" };
    println!(
        "memory: {} KiB more in the last sixth than in the first: {}",
        memory / 1_024,
        verdict(memory <= GROWTH)
    );
    println!("descriptors: {descriptors} more: {}", verdict(descriptors == 0));
    println!("recording: {recording} bytes at most: {}", verdict(recording <= LARGEST));
    !first.is_empty() && memory <= GROWTH && descriptors == 0 && recording <= LARGEST
}

/// The wake-ups of a recording, against the time that they took.
#[derive(Default)]
struct WakeupCounts {
    period: Span,
    seen: u64,
    missed: u64,
    lost: u64,
    /// Time of the turns that have ended, of all threads together.
    passed: Span,
    turns: u64,
}

impl WakeupCounts {
    /// Periods that passed from the beginning of each turn's first block to its end.
    fn periods(&self) -> u64 {
        self.passed.as_nanos() / self.period.as_nanos().max(1)
    }

    /// Wake-ups that were seen, missed or lost: each period has one of these. What comes before the first
    /// planned wake-up (warm-up, phase) and after the last is a few periods.
    fn is_whole(&self) -> bool {
        const AT_THE_ENDS: u64 = 20;
        self.seen > 0
            && self.periods().abs_diff(self.seen + self.missed + self.lost) <= AT_THE_ENDS * self.turns
    }
}

impl std::fmt::Display for WakeupCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seen, missed, lost, .. } = self;
        let (periods, verdict) = (self.periods(), if self.is_whole() { "ok" } else { "NOT ALL" });
        write!(
            f,
            "wake-ups: {seen} seen, {missed} missed, {lost} lost, of {periods} periods that passed: {verdict}"
        )
    }
}

fn counts(out: &Path, period: Span) -> io::Result<WakeupCounts> {
    let (mut counts, mut from) = (WakeupCounts { period, ..WakeupCounts::default() }, BTreeMap::new());
    for line in Reader::open(out).map_err(io::Error::other)? {
        match line.map_err(io::Error::other)? {
            Line::Block(block) => {
                counts.seen += block.latency.count();
                counts.missed += block.missed_periods;
                counts.lost += block.lost;
                let from = from.entry(block.condition).or_insert(block.from);
                *from = block.from.min(*from);
            }
            Line::Finished(finished) => {
                if let Some(from) = from.remove(&finished.condition) {
                    counts.passed = counts.passed.plus(finished.at.since(from));
                    counts.turns += 1;
                }
            }
            _ => {}
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(memory: u64, descriptors: u64) -> ResourceSample {
        ResourceSample { after: Span::ZERO, memory, descriptors, recording: 1 }
    }

    #[test]
    fn growth_is_seen() {
        assert!(judge(&[sample(1_000, 7); 12]));
        let leak: Vec<ResourceSample> = (0..12).map(|number| sample(number << 20, 7)).collect();
        assert!(!judge(&leak));
        let open: Vec<ResourceSample> = (0..12).map(|number| sample(1_000, number)).collect();
        assert!(!judge(&open));
        assert!(!judge(&[]));
    }

    #[test]
    fn a_period_without_a_wake_up_is_seen() {
        let (period, passed) = (Span::from_millis(1), Span::from_secs(1));
        let counts = |seen| WakeupCounts { period, seen, missed: 3, lost: 2, passed, turns: 1 };
        assert!(counts(985).is_whole());
        assert!(!counts(900).is_whole());
    }

    #[test]
    fn time_and_period_are_as_typed() {
        let millis = Span::from_millis;
        assert_eq!(options(&["--for", "2s", "--period", "2ms"]), Ok((millis(2_000), millis(2))));
        assert_eq!(options(&["--for", "2s"]), Ok((millis(2_000), millis(1))));
        assert!(options(&["--for"]).is_err() && options(&["2s", "2s"]).is_err());
    }

    #[test]
    fn drift_is_in_parts_per_million() {
        assert_eq!(format!("{:.1}", drift((0, 0), (1_000_010, 1_000_000))), "10.0");
    }
}
