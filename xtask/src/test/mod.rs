//! `cargo xtask test`: everything needed to pass the tests.
//!
//! Not cargo-nextest: built from source it takes eight minutes of two CPUs (0.9.151), and it keeps what a test that passes
//! prints to itself, from which the skipped ones are counted here.

mod programs;
mod python;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use self::programs::Surroundings;
use crate::{packages, supply, tracefs};

/// How much to test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything, as CI does.
    Everything,
    /// What an everyday loop needs: format, lints, and tests that neither measure this machine nor boot another.
    Fast,
    /// Those who read what howlate writes, each by its own library.
    Consumers,
    /// The Python package.
    Python,
}

/// Runs the checks and tests; prints how many passed, failed and were skipped.
pub fn run(extent: Extent) -> ExitCode {
    let mut failed_checks = Vec::new();
    if extent == Extent::Consumers {
        packages::provide(packages::FOR_CONSUMERS);
    }
    if extent == Extent::Everything {
        packages::provide(packages::FOR_TESTS);
    }
    for (name, arguments) in checks(extent) {
        println!("== {name}: cargo {}", arguments.join(" "));
        if !cargo(arguments).status().is_ok_and(|status| status.success()) {
            failed_checks.push(*name);
        }
    }
    let mut tally = tests(extent);
    if extent == Extent::Everything {
        failed_checks.extend(check_supply(&mut tally));
    }
    for skipped in &tally.skipped {
        println!("skipped: {skipped}");
    }
    let checks = failed_checks.iter().map(|check| (*check).to_owned());
    checks.chain(tally.reasons.iter().cloned()).for_each(|failed| println!("FAILED: {failed}"));
    let failed = tally.failed + failed_checks.len() as u64;
    println!("{} passed, {failed} failed, {} skipped", tally.passed, tally.skipped.len());
    if failed == 0 && tally.ran_to_the_end { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is checked besides by running tests: of a change, its format and lints.
fn checks(extent: Extent) -> &'static [(&'static str, &'static [&'static str])] {
    match extent {
        Extent::Everything => &CHECKS,
        Extent::Fast => &CHECKS[..2],
        Extent::Consumers | Extent::Python => &[],
    }
}

/// The name of the check if it has failed. Where nothing has changed since `deny.stamp` was written, it was looked at then.
fn check_supply(tally: &mut Tally) -> Option<&'static str> {
    if supply::is_as_checked().unwrap_or(false) {
        println!("== supply: nothing has changed since `cargo xtask supply` looked at it");
        return None;
    }
    println!("== supply: cargo xtask supply (run it yourself, and commit deny.stamp)");
    match supply::check() {
        Ok(checked) => {
            checked.skipped.iter().for_each(|skipped| tally.skip(skipped));
            (!checked.is_kept).then_some("supply")
        }
        Err(error) => {
            tally.skip(&format!("supply: {error}"));
            None
        }
    }
}

const CHECKS: [(&str, &[&str]); 4] = [
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", WITH_ALL, "--quiet", "--", "-D", "warnings"]),
    // As people build it: without what few need, which tests have.
    ("lints as it is built", &["clippy", "--package", "howlate", "--quiet", "--", "-D", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps", WITH_ALL, "--quiet"]),
];
/// What few need is built in where all is tested.
const WITH_ALL: &str = "--features=howlate/parquet,howlate/png";

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).env("RUSTDOCFLAGS", "-D warnings").current_dir(root());
    cargo
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// What came of the tests.
#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
    /// Why tests failed, in a line each.
    reasons: Vec<String>,
    ran_to_the_end: bool,
}

/// Runs the tests and adds their numbers up.
fn tests(extent: Extent) -> Tally {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let skips = folder.path().join("skips");
    let mut tally = if extent == Extent::Python { Tally::begun() } else { programs_of(extent, &skips) };
    if extent == Extent::Everything {
        examples(&skips, &mut tally);
    }
    let skipped = std::fs::read_to_string(&skips).unwrap_or_default();
    // A test that skips itself has passed in the eyes of the test runner.
    tally.passed = tally.passed.saturating_sub(skipped.lines().count() as u64);
    tally.skipped.extend(skipped.lines().map(str::to_owned));
    match extent {
        Extent::Fast => tally.skip("the Python package: it takes long"),
        Extent::Everything | Extent::Consumers | Extent::Python => python::run(&mut tally),
    }
    tally
}

/// A test program for each CPU at a time, and two more where somebody waits, as most only wait themselves; those that boot
/// guests have the machine for themselves.
fn programs_of(extent: Extent, skips: &Path) -> Tally {
    let mut tally = Tally::default();
    let mut command =
        cargo(&["test", "--workspace", WITH_ALL, "--no-run", "--message-format=json-render-diagnostics"]);
    if extent == Extent::Consumers {
        command.args(["--test", "consumers", "--test", "cyclictest"]);
    }
    let programs = match programs::built(command) {
        Ok(programs) => programs,
        Err(error) => {
            println!("FAILED: {error}");
            return tally;
        }
    };
    tally.ran_to_the_end = true;
    let is_fast = extent == Extent::Fast;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = if is_fast { cpus + 2 } else { cpus };
    let surroundings = Surroundings { before: tracefs::words_before(), skips, is_fast };
    let (slow, programs): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| is_fast && program.takes_minutes());
    slow.iter().for_each(|program| tally.skip(&format!("{}: it takes minutes", program.name())));
    let (alone, together): (Vec<_>, Vec<_>) = programs.into_iter().partition(|one| one.needs_the_machine());
    for (programs, at_once) in [(together, at_once), (alone, 1)] {
        programs::run(programs, at_once, &surroundings, &mut |ended| {
            println!("== {} · {:.0} s", ended.name, ended.took.as_secs_f64());
            print!("{}", ended.text);
            ended.text.lines().for_each(|line| tally.add(line));
            tally.reasons.extend(reasons(&ended.text));
            tally.ran_to_the_end &= ended.is_success;
        });
    }
    tally
}

/// The examples of the documentation, which only cargo can run.
fn examples(skips: &Path, tally: &mut Tally) {
    let mut command = cargo(&["test", "--workspace", WITH_ALL, "--doc", "--no-fail-fast"]);
    command.env("HOWLATE_SKIPS", skips).stdout(Stdio::piped());
    let mut child = command.spawn().expect("cargo starts");
    let out = child.stdout.take().expect("piped above");
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        println!("{line}");
        tally.add(&line);
    }
    tally.ran_to_the_end &= child.wait().is_ok_and(|status| status.success());
}

impl Tally {
    /// Nothing has failed yet.
    fn begun() -> Self {
        Self { ran_to_the_end: true, ..Self::default() }
    }

    /// Counts one that could not run.
    fn skip(&mut self, reason: &str) {
        self.skipped.push(reason.to_owned());
    }

    /// Reads `test result: ok. 5 passed; 1 failed; …`.
    fn add(&mut self, line: &str) {
        let Some(numbers) = line.strip_prefix("test result: ") else { return };
        let number = |name: &str| {
            let before = numbers.split(name).next().and_then(|text| text.split(' ').rev().nth(1));
            before.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
        };
        self.passed += number("passed;");
        self.failed += number("failed;");
    }
}

/// Of each failed test, where it panicked and how its message begins: the whole of it is pages above.
fn reasons(text: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let failed: Vec<String> = text.lines().filter_map(name).collect();
    let panicked = |(line, message): (&str, &str)| {
        let (name, place) = line.strip_prefix("thread '")?.split_once("' ")?;
        let place = place.split_once("panicked at ")?.1;
        failed.iter().any(|one| one == name).then(|| {
            let message: String = message.chars().take(MESSAGE).collect();
            format!("{name}: {place} {message}")
        })
    };
    text.lines().zip(text.lines().skip(1)).filter_map(panicked).collect()
}

/// Letters of a message that are printed at the end.
const MESSAGE: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_says_why_at_the_end() {
        let text = "test a::b ... ok\ntest c::d ... FAILED\n\n---- c::d stdout ----\n\n\
                    thread 'a::b' (1) panicked at x.rs:1:2:\nas it is to\n\
                    thread 'c::d' (2) panicked at y.rs:3:4:\n1 of 2\nstack backtrace:\n";
        assert_eq!(reasons(text), ["c::d: y.rs:3:4: 1 of 2"]);
        assert_eq!(reasons(&text.replace("1 of 2", &"é".repeat(400)))[0].chars().count(), 16 + MESSAGE);
    }

    #[test]
    fn the_numbers_of_test_programs_add_up() {
        let mut tally = Tally::default();
        tally.add(
            "test result: ok. 28 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.99s",
        );
        tally.add("test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured");
        tally.add("test a ... ok");
        assert_eq!((tally.passed, tally.failed), (32, 1));
    }
}
