//! `cargo xtask soak`: one long measurement, and whether anything grew that must not.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use howlate_linux::clock;
use howlate_model::{Line, MonotonicTime, Span, WaitClock};
use howlate_recording::Reader;

use crate::bench::built;

/// Looks at the running program.
const LOOKS: u64 = 120;
/// Memory may differ by this much between the first and the last third. Latencies that nobody had seen before are still new
/// after an hour, and each takes a column of 16 bytes, with missed periods counted and without: in up to 256 slices of time, of
/// some 200 columns, and in up to 32 stretches, of some 1 000 buckets. That comes to an end; what grows with every wake-up does
/// not, and is above this after an hour if it is one byte.
const GROWTH: u64 = 2 << 20;
/// Bytes of a recording of one condition: 1024 blocks at most, as `docs/recording.md` promises.
const LARGEST: u64 = 4 << 20;
/// What is measured, so that what came can be counted against what must have come.
const PERIOD: Span = Span::from_millis(1);

/// Runs for the time typed after `--for`, a day if nothing is.
pub fn run(words: &[&str]) -> ExitCode {
    let time = match words {
        [] => Ok(Span::from_secs(24 * 3_600)),
        ["--for", time] => time.parse::<Span>().map_err(|error| error.to_string()),
        _ => Err("usage: cargo xtask soak [--for 24h]".to_owned()),
    };
    match time.map_err(io::Error::other).and_then(soak) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// What the program needed at one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    after: Span,
    memory: u64,
    descriptors: u64,
    recording: u64,
}

/// Whether all is well.
fn soak(time: Span) -> io::Result<bool> {
    let program = built()?;
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("soak.jsonl");
    let mut command = Command::new(program);
    command.args(["cyclic", "--threads", "1", "--period", &PERIOD.to_string(), "--quiet"]);
    command.args(["--duration", &time.to_string(), "--out"]).arg(&out).stdout(Stdio::null());
    let clocks = clocks();
    let mut child = command.spawn()?;
    let looks = looks(&mut child, time, &out)?;
    let status = child.wait()?;
    let drift = drift(clocks, self::clocks());
    println!("clock: CLOCK_MONOTONIC went {drift:+.1} ppm against CLOCK_REALTIME");
    let counted = counted(&out)?;
    println!("{counted}");
    Ok(judged(&looks) & counted.is_whole() & (status.code() == Some(0)))
}

/// `CLOCK_MONOTONIC` and `CLOCK_REALTIME`, in nanoseconds.
fn clocks() -> (i64, i64) {
    (clock::now().as_nanos(), clock::now_on(WaitClock::Realtime))
}

/// Parts in a million by which the first clock was faster than the second.
fn drift(before: (i64, i64), after: (i64, i64)) -> f64 {
    let (one, other) = ((after.0 - before.0) as f64, (after.1 - before.1) as f64);
    (one / other - 1.0) * 1e6
}

fn looks(child: &mut Child, time: Span, out: &Path) -> io::Result<Vec<Look>> {
    let every = Span::from_nanos((time.as_nanos() / LOOKS).max(1_000_000_000));
    let began = clock::now();
    let mut looks = Vec::new();
    println!("{:>10} {:>14} {:>12} {:>16}", "after", "memory KiB", "descriptors", "recording bytes");
    loop {
        clock::pause(every)?;
        if child.try_wait()?.is_some() {
            return Ok(looks);
        }
        if let Some(look) = look(child.id(), clock::now().since(began), out) {
            println!(
                "{:>9.0}s {:>14} {:>12} {:>16}",
                look.after.as_secs_f64(),
                look.memory / 1_024,
                look.descriptors,
                look.recording
            );
            looks.push(look);
        }
    }
}

/// `None` when it ends just now.
fn look(process: u32, after: Span, out: &Path) -> Option<Look> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    // Its own memory. Pages of its file come and go as the machine needs memory, and say nothing.
    let kibibytes: u64 = ["RssAnon:", "RssShmem:", "VmSwap:"]
        .iter()
        .map(|field| kibibytes(&status, field))
        .sum::<Option<_>>()?;
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64;
    let recording = fs::metadata(out).ok()?.len();
    Some(Look { after, memory: kibibytes * 1_024, descriptors, recording })
}

/// A field of `/proc/PID/status`.
fn kibibytes(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    value.trim().trim_end_matches(" kB").parse().ok()
}

/// Prints what grew.
fn judged(looks: &[Look]) -> bool {
    let third = looks.len() / 3;
    let (Some(first), Some(last)) = (looks.get(..third), looks.get(looks.len() - third..)) else {
        return false;
    };
    let most = |looks: &[Look], of: fn(&Look) -> u64| looks.iter().map(of).max().unwrap_or_default();
    let memory = most(last, |look| look.memory).saturating_sub(most(first, |look| look.memory));
    let descriptors =
        most(last, |look| look.descriptors).saturating_sub(most(first, |look| look.descriptors));
    let recording = most(looks, |look| look.recording);
    let verdict = |is_well: bool| if is_well { "ok" } else { "GREW" };
    println!(
        "memory: {} KiB more in the last third than in the first: {}",
        memory / 1_024,
        verdict(memory <= GROWTH)
    );
    println!("descriptors: {descriptors} more: {}", verdict(descriptors == 0));
    println!("recording: {recording} bytes at most: {}", verdict(recording <= LARGEST));
    !first.is_empty() && memory <= GROWTH && descriptors == 0 && recording <= LARGEST
}

/// The wake-ups of a recording, against the time that they took.
#[derive(Default)]
struct Counted {
    seen: u64,
    missed: u64,
    lost: u64,
    from: Option<MonotonicTime>,
    until: MonotonicTime,
}

impl Counted {
    /// Periods that passed from the first block's beginning to the end of the turn.
    fn periods(&self) -> u64 {
        self.until.since(self.from.unwrap_or(self.until)).as_nanos() / PERIOD.as_nanos()
    }

    /// Wake-ups that were seen, missed or lost: each period has one of these. What comes before the first
    /// planned wake-up (warm-up, phase) and after the last is a few periods.
    fn is_whole(&self) -> bool {
        const AT_THE_ENDS: u64 = 20;
        self.seen > 0 && self.periods().abs_diff(self.seen + self.missed + self.lost) <= AT_THE_ENDS
    }
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seen, missed, lost, .. } = self;
        let (periods, verdict) = (self.periods(), if self.is_whole() { "ok" } else { "NOT ALL" });
        write!(
            f,
            "wake-ups: {seen} seen, {missed} missed, {lost} lost, of {periods} periods that passed: {verdict}"
        )
    }
}

fn counted(out: &Path) -> io::Result<Counted> {
    let mut counted = Counted::default();
    for line in Reader::open(out).map_err(io::Error::other)? {
        match line.map_err(io::Error::other)? {
            Line::Block(block) => {
                counted.seen += block.latency.count();
                counted.missed += block.missed_periods;
                counted.lost += block.lost;
                counted.from = Some(counted.from.map_or(block.from, |from| from.min(block.from)));
            }
            Line::Finished(finished) => counted.until = finished.at,
            _ => {}
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(memory: u64, descriptors: u64) -> Look {
        Look { after: Span::ZERO, memory, descriptors, recording: 1 }
    }

    #[test]
    fn growth_is_seen() {
        assert!(judged(&[look(1_000, 7); 9]));
        let leak: Vec<Look> = (0..9).map(|number| look(number << 20, 7)).collect();
        assert!(!judged(&leak));
        let open: Vec<Look> = (0..9).map(|number| look(1_000, number)).collect();
        assert!(!judged(&open));
        assert!(!judged(&[]));
    }

    #[test]
    fn a_period_without_a_wake_up_is_seen() {
        let (from, until) = (Some(MonotonicTime::from_nanos(0)), MonotonicTime::from_nanos(1_000_000_000));
        assert!(Counted { seen: 985, missed: 3, lost: 2, from, until }.is_whole());
        assert!(!Counted { seen: 900, missed: 3, lost: 2, from, until }.is_whole());
    }

    #[test]
    fn drift_is_in_parts_per_million() {
        assert_eq!(format!("{:.1}", drift((0, 0), (1_000_010, 1_000_000))), "10.0");
    }
}
