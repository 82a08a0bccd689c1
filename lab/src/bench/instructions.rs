//! User-space instructions per wake-up of the whole process, counted by callgrind.

use std::io;
use std::path::Path;
use std::process::Command;

use super::program::{built, output};

/// Pairs of run lengths in wake-ups at 1 kHz, and how often they are counted: what two differ by is what wake-ups cost,
/// start and end left out. The first seconds are cut into short blocks, each of which is analysed, shown and kept. Start and
/// end differ from run to run by as much as some thousand wake-ups cost.
const LENGTHS: [(&str, [u64; 2], usize); 2] =
    [("in seconds 1 to 4", [1_000, 4_000], 5), ("after 34 s", [34_000, 154_000], 1)];

/// Counts both programs at a period of 1 ms, quiet.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    for (when, lengths, times) in LENGTHS {
        let ours = median(times, || per_wake_up(lengths, |samples| count_howlate(&howlate, samples)))?;
        let reference = median(times, || per_wake_up(lengths, count_cyclictest))?;
        let ratio = ours / reference;
        println!(
            "instructions per wake-up {when}: howlate {ours:.0}, cyclictest {reference:.0}, ratio {ratio:.2}"
        );
    }
    Ok(())
}

fn median(times: usize, count: impl Fn() -> io::Result<f64>) -> io::Result<f64> {
    let mut counts = (0..times).map(|_| count()).collect::<io::Result<Vec<f64>>>()?;
    counts.sort_by(f64::total_cmp);
    Ok(counts[times / 2])
}

fn per_wake_up([short, long]: [u64; 2], count: impl Fn(u64) -> io::Result<u64>) -> io::Result<f64> {
    let more = count(long)? as f64 - count(short)? as f64;
    Ok(more / (long - short) as f64)
}

fn count_howlate(program: &Path, samples: u64) -> io::Result<u64> {
    let samples = samples.to_string();
    callgrind(program, &["cyclic", "--threads", "1", "--samples", &samples, "--quiet", "--json"])
}

fn count_cyclictest(samples: u64) -> io::Result<u64> {
    let loops = samples.to_string();
    callgrind(Path::new("/usr/bin/cyclictest"), &["-q", "-t", "1", "-i", "1000", "-l", &loops])
}

/// callgrind ends with `Collected : N`, the instructions of all threads.
fn callgrind(program: &Path, arguments: &[&str]) -> io::Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let stderr = String::from_utf8_lossy(&output(&mut valgrind)?.stderr).into_owned();
    let collected = stderr.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    collected.ok_or_else(|| io::Error::other(format!("valgrind did not say what it collected: {stderr}")))
}
