//! What three lines of `howlate.h` cost a turn of a loop, and what a span in it costs: below 60 ns each under `howlate watch`, and
//! next to nothing without.

use std::io;
use std::process::Command;

use howlate_analyse::quantile_ranks;

use super::paired::median;
use super::program::{built, compiled, output};
use super::why::limit::{BenchFigure, BenchLimits};

/// Nanoseconds that a turn, or a span in it, may cost at the median.
const MOST: f64 = 60.0;
/// And without howlate: two branches.
const MOST_WITHOUT: f64 = 5.0;

/// Prints all, and fails where one is above its limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let folder = tempfile::tempdir()?;
    let program = compiled("bench/loop.c", folder.path())?;
    let watched = |arguments: &[&str]| {
        let mut watched = Command::new(&howlate);
        let out = folder.path().join(format!("{}.jsonl", arguments.len()));
        watched.args(["watch", "--tracer", "none", "--quiet", "--out"]).arg(out);
        watched.arg("--").arg(&program).args(arguments);
        watched
    };
    let mut without = Command::new(&program);
    without.arg("span");
    let mut limits = BenchLimits::default();
    judge(&mut limits, "a turn of a marked loop, under howlate", &mut watched(&[]), MOST)?;
    judge(&mut limits, "a span in a turn, under howlate", &mut watched(&["span"]), MOST)?;
    judge(&mut limits, "a turn without howlate", &mut Command::new(&program), MOST_WITHOUT)?;
    judge(&mut limits, "a span in a turn without howlate", &mut without, MOST_WITHOUT)?;
    limits.verdict()
}

/// The median of the differences that the program prints; howlate prints its own result after them.
fn judge(limits: &mut BenchLimits, name: &str, command: &mut Command, most: f64) -> io::Result<()> {
    let printed = String::from_utf8_lossy(&output(command)?.stdout).into_owned();
    let mut differences: Vec<f64> = printed.lines().map_while(|line| line.parse().ok()).collect();
    if differences.is_empty() {
        return Err(io::Error::other("the program printed no difference"));
    }
    differences.sort_by(f64::total_cmp);
    let at = |rank: u64| differences[rank as usize - 1];
    let interval = quantile_ranks(differences.len() as u64, 0.5).map(|(low, high)| (at(low), at(high)));
    limits.judge(&BenchFigure { name, value: median(&differences), interval, most, unit: "ns" });
    Ok(())
}
