//! `cargo xtask bench build`: from a fresh clone to the first answer, and what building costs beside a program that people know.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use howlate_linux::{clock, usage};

use super::paired::median;
use super::program::output;
use super::why::limit::{BenchFigure, BenchLimits};

/// Limit of the build's CPU time, as a multiple of ripgrep's.
const MOST_TIMES_RIPGREP: f64 = 2.5;
/// Limit from the clone to the first line of the result, s: two minutes for the build, and the quick look.
const MOST_UNTIL_ANSWERED: f64 = 140.0;
/// Limit of a build after a change in `render`, s.
const MOST_AFTER_CHANGE: f64 = 20.0;
const RUNS: usize = 3;

/// Figures of one run.
struct BuildCost {
    /// CPU time of `cargo run --release` without the quick look, divided by ripgrep's.
    times_ripgrep: f64,
    /// Seconds from `git clone` to the first line of a result.
    until_answered: f64,
    /// Seconds of the build after a change in `render`.
    after_change: f64,
}

/// Prints medians; fails if one is above its limit. Both programs are built alternately, from scratch.
pub fn run() -> io::Result<()> {
    let costs: Vec<BuildCost> = (0..RUNS).map(|_| cost()).collect::<io::Result<_>>()?;
    let mut limits = BenchLimits::default();
    let mut judge = |name, unit, most, of: fn(&BuildCost) -> f64| {
        let value = median(&costs.iter().map(of).collect::<Vec<_>>());
        limits.judge(&BenchFigure { name, value, interval: None, most, unit });
    };
    judge("CPU time of the build, median", "times ripgrep's", MOST_TIMES_RIPGREP, |figures| {
        figures.times_ripgrep
    });
    judge("from clone to answer, median", "s", MOST_UNTIL_ANSWERED, |figures| figures.until_answered);
    judge("build after a change in render, median", "s", MOST_AFTER_CHANGE, |figures| figures.after_change);
    limits.verdict()
}

fn cost() -> io::Result<BuildCost> {
    let folder = tempfile::tempdir()?;
    let of_ripgrep = cpu_seconds(|| ripgrep(folder.path()))?;
    let clone = folder.path().join("howlate");
    let began = clock::now();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    output(Command::new("git").args(["clone", "--quiet"]).arg(root).arg(&clone))?;
    let of_build = cpu_seconds(|| cargo(&clone, &["build", "--release"]))?;
    first_answer(&clone)?;
    let until_answered = clock::now().since(began).as_secs_f64();
    let changed = clone.join("crates/presentation/render/src/lib.rs");
    std::fs::write(
        &changed,
        std::fs::read_to_string(&changed)? + "\n/// Changed.\npub const CHANGED: u8 = 0;\n",
    )?;
    let began = clock::now();
    cargo(&clone, &["build", "--release"])?;
    let after_change = clock::now().since(began).as_secs_f64();
    let cost = BuildCost { times_ripgrep: of_build / of_ripgrep, until_answered, after_change };
    println!(
        "ripgrep {of_ripgrep:.0} s of CPU, howlate {of_build:.0}: {:.2} times; answered after {until_answered:.0} s; changed {after_change:.1} s",
        cost.times_ripgrep
    );
    Ok(cost)
}

fn ripgrep(folder: &Path) -> io::Result<()> {
    let mut install = Command::new(env!("CARGO"));
    install.args(["install", "--quiet", "ripgrep", "--version", "14.1.1", "--locked", "--root"]).arg(folder);
    output(install.env("CARGO_TARGET_DIR", folder.join("ripgrep"))).map(drop)
}

/// cargo as in a fresh clone, without the environment variables of this build.
fn cargo(clone: &Path, arguments: &[&str]) -> io::Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    for name in ["CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "RUSTFLAGS"] {
        cargo.env_remove(name);
    }
    output(cargo.args(arguments).arg("--quiet").current_dir(clone)).map(drop)
}

/// Runs the quick look until it has said how late wake-ups are.
fn first_answer(clone: &Path) -> io::Result<()> {
    let mut look = Command::new(clone.join("target/release/howlate"));
    let mut look = look.args(["--quiet", "--no-save"]).stdout(Stdio::piped()).spawn()?;
    let stdout = look.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let is_answered = lines.any(|line| line.starts_with("Wake-ups are usually"));
    lines.for_each(drop);
    look.wait()?;
    if is_answered { Ok(()) } else { Err(io::Error::other("the quick look says nothing of wake-ups")) }
}

/// CPU seconds of all child processes during `work`.
fn cpu_seconds(work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let used = || {
        let usage = usage::of_ended_children();
        usage.user.plus(usage.system).as_secs_f64()
    };
    let before = used();
    work()?;
    Ok(used() - before)
}
