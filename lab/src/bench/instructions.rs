//! User-space instructions per wake-up of the whole process, counted by callgrind.

use std::io;
use std::path::Path;
use std::process::Command;

use super::program::{built, output};

/// Two run lengths: what they differ by is what wake-ups cost, start and end left out.
const LENGTHS: [u64; 2] = [1_000, 4_000];

/// Counts both programs at a period of 1 ms, quiet.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let ours = per_wake_up(|samples| count_howlate(&howlate, samples))?;
    let theirs = per_wake_up(count_cyclictest)?;
    println!(
        "instructions per wake-up: howlate {ours:.0}, cyclictest {theirs:.0}, ratio {:.2}",
        ours / theirs
    );
    Ok(())
}

fn per_wake_up(count: impl Fn(u64) -> io::Result<u64>) -> io::Result<f64> {
    let (short, long) = (count(LENGTHS[0])?, count(LENGTHS[1])?);
    Ok((long as f64 - short as f64) / (LENGTHS[1] - LENGTHS[0]) as f64)
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
    let said = String::from_utf8_lossy(&output(&mut valgrind)?.stderr).into_owned();
    let collected = said.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    collected.ok_or_else(|| io::Error::other(format!("valgrind did not say what it collected: {said}")))
}
