//! `cargo xtask test`: style checks and all tests.
//!
//! Not cargo-nextest: building it from source takes eight minutes of two CPUs (0.9.151), and it hides the output of passing tests,
//! from which skipped tests are counted here.

mod programs;
mod python;
mod stages;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use self::programs::{RunSettings, TestExecutable};
use self::stages::StageTimes;
use crate::{packages, supply, tracefs};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TestScope {
    /// All checks and tests, as in CI.
    Everything,
    /// After each change: format, lints, and tests that neither measure this machine nor boot a guest.
    Fast,
    /// Reads howlate's output with the libraries of other projects.
    Consumers,
    /// The Python package.
    Python,
}

/// Runs the checks and tests; prints how many passed, failed and were skipped.
pub fn run(scope: TestScope) -> ExitCode {
    let (mut failed_checks, mut times) = (Vec::new(), StageTimes::default());
    times.stage("packages", || match scope {
        TestScope::Consumers => packages::provide(packages::FOR_CONSUMERS),
        TestScope::Everything => packages::provide(packages::FOR_TESTS),
        TestScope::Fast | TestScope::Python => {}
    });
    for (name, arguments) in checks(scope) {
        println!("== {name}: cargo {}", arguments.join(" "));
        let status = times.stage(name, || cargo(arguments).status());
        if !status.is_ok_and(|status| status.success()) {
            failed_checks.push(*name);
        }
    }
    let mut tally = run_tests(scope, &mut times);
    if scope == TestScope::Everything {
        failed_checks.extend(check_supply(&mut tally));
    }
    for skipped in &tally.skipped {
        println!("skipped: {skipped}");
    }
    let checks = failed_checks.iter().map(|check| (*check).to_owned());
    checks.chain(tally.reasons.iter().cloned()).for_each(|failed| println!("FAILED: {failed}"));
    let failed = tally.failed + failed_checks.len() as u64;
    println!("{}", times.summary());
    println!("{} passed, {failed} failed, {} skipped", tally.passed, tally.skipped.len());
    if failed == 0 && tally.ran_to_the_end { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Checks by cargo besides the tests.
fn checks(scope: TestScope) -> &'static [(&'static str, &'static [&'static str])] {
    match scope {
        TestScope::Everything => &CHECKS,
        TestScope::Fast => &CHECKS[..2],
        TestScope::Consumers | TestScope::Python => &[],
    }
}

/// The name of the check if it has failed. Skipped if nothing has changed since `deny.stamp` was written.
fn check_supply(tally: &mut TestTally) -> Option<&'static str> {
    if supply::is_unchanged().unwrap_or(false) {
        println!("== supply: nothing has changed since `cargo xtask supply` looked at it");
        return None;
    }
    println!("== supply: cargo xtask supply (run it yourself, and commit deny.stamp)");
    match supply::check() {
        Ok(result) => {
            result.skipped.iter().for_each(|skipped| tally.skip(skipped));
            (!result.has_passed).then_some("supply")
        }
        Err(error) => {
            tally.skip(&format!("supply: {error}"));
            None
        }
    }
}

const CHECKS: [(&str, &[&str]); 4] = [
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", ALL_FEATURES, "--quiet", "--", "-D", "warnings"]),
    // Without the optional features, as users build it.
    ("lints as it is built", &["clippy", "--package", "howlate", "--quiet", "--", "-D", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps", ALL_FEATURES, "--quiet"]),
];
/// The optional features.
const ALL_FEATURES: &str = "--features=howlate/parquet,howlate/png";

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).env("RUSTDOCFLAGS", "-D warnings").current_dir(root());
    cargo
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Results of all tests.
#[derive(Default)]
struct TestTally {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
    /// Why tests failed, one line each.
    reasons: Vec<String>,
    ran_to_the_end: bool,
}

fn run_tests(scope: TestScope, times: &mut StageTimes) -> TestTally {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let skips = folder.path().join("skips");
    let is_fast = scope == TestScope::Fast;
    let settings = RunSettings { wrapper: tracefs::mount_command(), skips: &skips, is_fast };
    let mut tally = TestTally::complete();
    let programs = if scope == TestScope::Python { Vec::new() } else { build(scope, times, &mut tally) };
    let (guests, programs): (Vec<_>, Vec<_>) = programs.into_iter().partition(TestExecutable::boots_guests);
    let is_beside_guests = |program: &TestExecutable| !guests.is_empty() && program.only_computes();
    let (computing, programs): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_beside_guests);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // Most of the fast tests wait rather than compute. The others measure: with more at a time, more of them miss what they look for.
    let at_once = if is_fast { cpus + 2 } else { cpus };
    times.stage("tests", || run_programs(programs, at_once, &settings, &mut tally));
    if scope == TestScope::Everything {
        times.stage("examples", || run_doc_tests(&skips, &mut tally));
    }
    times.stage("guests and Python", || {
        run_guests_and_others(scope, TestPrograms { guests, computing }, &settings, &mut tally);
    });
    let skipped = std::fs::read_to_string(&skips).unwrap_or_default();
    // Rust's test harness counts a test that skips itself as passed.
    tally.passed = tally.passed.saturating_sub(skipped.lines().count() as u64);
    tally.skipped.extend(skipped.lines().map(str::to_owned));
    tally
}

/// Builds the test programs to run.
fn build(scope: TestScope, times: &mut StageTimes, tally: &mut TestTally) -> Vec<TestExecutable> {
    let mut command =
        cargo(&["test", "--workspace", ALL_FEATURES, "--no-run", "--message-format=json-render-diagnostics"]);
    if scope == TestScope::Consumers {
        command.args(["--test", "consumers", "--test", "cyclictest"]);
    }
    let programs = times.stage("build", || programs::build(command)).unwrap_or_else(|error| {
        println!("FAILED: {error}");
        tally.ran_to_the_end = false;
        Vec::new()
    });
    let is_left_out = |program: &TestExecutable| scope == TestScope::Fast && program.takes_minutes();
    let (slow, programs): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_left_out);
    slow.iter().for_each(|program| tally.skip(&format!("{}: it takes minutes", program.name())));
    if scope == TestScope::Fast {
        let long = programs.iter().filter_map(|program| Some((program.name(), program.long_tests()?)));
        long.for_each(|(name, module)| tally.skip(&format!("{name} {module}: it takes a minute")));
    }
    programs
}

/// Runs so many test programs at a time.
fn run_programs(
    programs: Vec<TestExecutable>,
    at_once: usize,
    settings: &RunSettings<'_>,
    tally: &mut TestTally,
) {
    programs::run(programs, at_once, settings, &mut |run| {
        println!("== {} · {:.0} s", run.name, run.duration.as_secs_f64());
        print!("{}", run.output);
        run.output.lines().for_each(|line| tally.add(line));
        tally.reasons.extend(failure_reasons(&run.output));
        tally.ran_to_the_end &= run.is_success;
    });
}

/// The programs of the last stage.
struct TestPrograms {
    guests: Vec<TestExecutable>,
    computing: Vec<TestExecutable>,
}

/// Lowest priority: what guests leave of the CPUs.
const NICE: [&str; 3] = ["nice", "-n", "19"];

/// Boots guests, most of which run on one CPU at a time; beside them the tests of Python, then what only computes.
fn run_guests_and_others(
    scope: TestScope,
    programs: TestPrograms,
    settings: &RunSettings<'_>,
    tally: &mut TestTally,
) {
    let mut others = TestTally::complete();
    std::thread::scope(|both| {
        both.spawn(|| {
            match scope {
                TestScope::Fast => others.skip("the Python package: it takes long"),
                TestScope::Everything | TestScope::Consumers | TestScope::Python => python::run(&mut others),
            }
            run_programs(programs.computing, 1, &RunSettings { wrapper: &NICE, ..*settings }, &mut others);
        });
        run_programs(programs.guests, 1, settings, tally);
    });
    tally.merge(others);
}

/// Runs the examples in the documentation, which only cargo can do.
fn run_doc_tests(skips: &Path, tally: &mut TestTally) {
    let mut command = cargo(&["test", "--workspace", ALL_FEATURES, "--doc", "--no-fail-fast"]);
    command.env("HOWLATE_SKIPS", skips).stdout(Stdio::piped());
    let mut child = command.spawn().expect("cargo starts");
    let out = child.stdout.take().expect("piped above");
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        println!("{line}");
        tally.add(&line);
    }
    tally.ran_to_the_end &= child.wait().is_ok_and(|status| status.success());
}

impl TestTally {
    /// No tests, all of which ran to the end.
    fn complete() -> Self {
        Self { ran_to_the_end: true, ..Self::default() }
    }

    /// Adds the results of other tests.
    fn merge(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
        self.reasons.extend(other.reasons);
        self.ran_to_the_end &= other.ran_to_the_end;
    }

    fn skip(&mut self, reason: &str) {
        self.skipped.push(reason.to_owned());
    }

    /// Reads `test result: ok. 5 passed; 1 failed; …`.
    fn add(&mut self, line: &str) {
        let Some(numbers) = line.strip_prefix("test result: ") else { return };
        let number = |name: &str| {
            let word = numbers.split(name).next().and_then(|text| text.split(' ').rev().nth(1));
            word.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0)
        };
        self.passed += number("passed;");
        self.failed += number("failed;");
    }
}

/// The place of the panic and the beginning of its message, for each failed test. The full output is far above the summary.
fn failure_reasons(text: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    let failed: Vec<String> = text.lines().filter_map(name).collect();
    let lines: Vec<&str> = text.lines().collect();
    let reason = |(at, line): (usize, &&str)| {
        let (name, place) = line.strip_prefix("thread '")?.split_once("' ")?;
        let place = place.split_once("panicked at ")?.1;
        failed.iter().any(|test| test == name).then(|| {
            let message = lines[at + 1..].iter().take_while(|line| !ENDS_MESSAGE.contains(line));
            let message: Vec<&str> = message.map(|line| line.trim()).collect();
            let message: String = message.join(" / ").chars().take(MESSAGE_LENGTH).collect();
            format!("{name}: {place} {message}")
        })
    };
    lines.iter().enumerate().filter_map(reason).collect()
}

/// The lines that follow a panic's message.
const ENDS_MESSAGE: [&str; 3] =
    ["stack backtrace:", "", "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"];

/// Characters of a panic message in the summary.
const MESSAGE_LENGTH: usize = 1_500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_says_why_at_the_end() {
        let text = "test a::b ... ok\ntest c::d ... FAILED\n\n---- c::d stdout ----\n\n\
                    thread 'a::b' (1) panicked at x.rs:1:2:\nas it is to\n\
                    thread 'c::d' (2) panicked at y.rs:3:4:\n1 of 2\n  left: 3\nstack backtrace:\n";
        assert_eq!(failure_reasons(text), ["c::d: y.rs:3:4: 1 of 2 / left: 3"]);
        assert_eq!(
            failure_reasons(&text.replace("1 of 2", &"é".repeat(2 * MESSAGE_LENGTH)))[0].chars().count(),
            16 + MESSAGE_LENGTH
        );
    }

    #[test]
    fn the_numbers_of_test_programs_add_up() {
        let mut tally = TestTally::default();
        tally.add(
            "test result: ok. 28 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.99s",
        );
        tally.add("test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured");
        tally.add("test a ... ok");
        assert_eq!((tally.passed, tally.failed), (32, 1));
    }
}
