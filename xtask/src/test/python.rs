//! Tests the Python package as users get it: as a wheel, installed in a virtual environment.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{TestTally, root};
use crate::cross::target_folder;
use crate::python::{TOOLS, VirtualEnvironment, maturin, output};

/// Other versions of Python to test with if they are installed: the oldest supported one, and the newest ones.
const OTHER_PYTHONS: [&str; 4] = ["python3.9", "python3.13", "python3.14", "python3.15"];

/// The tests for those: the ones that need no libraries.
const WITHOUT_LIBRARIES: [&str; 5] = [
    "test_recordings.py",
    "test_schemas.py",
    "test_thread_settings.py",
    "test_event_loop.py",
    "test_pytest_plugin.py",
];

pub(super) fn run(tally: &mut TestTally) {
    println!("== Python package");
    let target = target_folder(root());
    let prepared = environments(&target).and_then(|(tools, tests)| Ok((wheel(&tools, &target)?, tests)));
    let (wheel, tests) = match prepared {
        Ok(prepared) => prepared,
        // Without a package registry or Python, nothing can be tested.
        Err(error) => {
            return tally.skip(&format!("the Python package cannot be built or installed here: {error}"));
        }
    };
    check(tally, "types", tests.command("mypy").current_dir(root().join("python")));
    check(tally, "what PyPI asks of a wheel", tests.command("twine").args(["check", "--strict"]).arg(&wheel));
    check(tally, "which systems it is for", tests.command("auditwheel").arg("show").arg(&wheel));
    pytest(tally, &tests, &wheel, &["."]);
    for python in OTHER_PYTHONS {
        let name = format!("other-{python}");
        match VirtualEnvironment::provide(&target, &name, python, &["pytest<10"]) {
            Ok(environment) => pytest(tally, &environment, &wheel, &WITHOUT_LIBRARIES),
            Err(error) => tally.skip(&format!("the package in {python}: {error}")),
        }
    }
}

/// The environments for building and for testing.
fn environments(target: &Path) -> io::Result<(VirtualEnvironment, VirtualEnvironment)> {
    let requirements = fs::read_to_string(root().join("python/tests/requirements.txt"))?;
    let packages: Vec<&str> = requirements.lines().filter(|line| !line.starts_with('#')).collect();
    let tools = VirtualEnvironment::provide(target, "tools", "python3", &TOOLS)?;
    Ok((tools, VirtualEnvironment::provide(target, "tests", "python3", &packages)?))
}

/// A wheel of the `release` profile, as `cargo run --release` builds it, so that the program is built once.
fn wheel(tools: &VirtualEnvironment, target: &Path) -> io::Result<PathBuf> {
    let variables = [("CARGO_TARGET_DIR".to_owned(), target.as_os_str().to_owned())];
    maturin(tools, root(), &target.join("python/wheel"), &["build", "--profile", "release"], &variables)
}

/// Counts a command as a test, which passes if the command succeeds.
fn check(tally: &mut TestTally, name: &str, command: &mut Command) {
    match output(command) {
        Ok(_) => tally.passed += 1,
        Err(error) => {
            println!("FAILED: Python: {name}: {error}");
            tally.failed += 1;
        }
    }
}

/// Installs the wheel and runs tests of `python/tests`.
fn pytest(tally: &mut TestTally, environment: &VirtualEnvironment, wheel: &Path, tests: &[&str]) {
    let arguments = [OsStr::new("--force-reinstall"), OsStr::new("--no-deps"), wheel.as_os_str()];
    if let Err(error) = environment.install(&arguments) {
        println!("FAILED: Python: the wheel cannot be installed: {error}");
        tally.failed += 1;
        return;
    }
    let folder = root().join("python/tests");
    let mut pytest = environment.command("pytest");
    pytest
        .args(["--quiet", "-rs", "-p", "no:cacheprovider"])
        .args(tests.iter().map(|name| folder.join(name)));
    pytest.env("HOWLATE_WHEEL", wheel).env("HOWLATE_ROOT", root()).env_remove("HOWLATE_BIN");
    // The wheel's program is built without the feature `parquet`; that of the Rust tests has it.
    let with_parquet = crate::cross::target_folder(root()).join("debug/howlate");
    if with_parquet.exists() {
        pytest.env("HOWLATE_WITH_PARQUET", with_parquet);
    }
    // Not in the folder of the sources, so that the installed package is imported.
    let output = pytest.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(environment.folder()).output();
    let Ok(output) = output else {
        println!("FAILED: Python: pytest does not start");
        tally.failed += 1;
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    let summary = PytestSummary::parse(&text);
    tally.passed += summary.passed;
    tally.failed += summary.failed;
    summary.skipped.iter().for_each(|reason| tally.skip(reason));
    tally.ran_to_the_end &= output.status.success();
}

/// Counts in pytest's output.
#[derive(Debug, Default, PartialEq)]
struct PytestSummary {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
}

impl PytestSummary {
    /// Parses `1 failed, 188 passed, 2 skipped, 1 error in 9.84s`, and `SKIPPED [2] path:1: reason`.
    fn parse(text: &str) -> Self {
        let last = text.lines().rev().find(|line| line.contains(" in ")).unwrap_or_default();
        let tokens: Vec<&str> = last.split([' ', ',']).filter(|token| !token.is_empty()).collect();
        let number = |name: &str| {
            let pair = tokens.windows(2).find(|pair| pair[1].trim_end_matches('s') == name);
            pair.and_then(|pair| pair[0].parse::<u64>().ok()).unwrap_or(0)
        };
        // Only the last summary: the output of a failed test may hold that of a nested pytest.
        let summary = text.rsplit_once("short test summary info").map_or(text, |(_, summary)| summary);
        let skipped = summary.lines().filter_map(|line| line.strip_prefix("SKIPPED [")?.split_once("] "));
        let reasons = skipped.flat_map(|(times, reason)| {
            std::iter::repeat_n(format!("Python: {reason}"), times.parse().unwrap_or(1))
        });
        Self {
            passed: number("passed"),
            failed: number("failed") + number("error"),
            skipped: reasons.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytests_numbers_are_read() {
        let text =
            "....\nSKIPPED [2] a.py:3: not in 3.9\n1 failed, 188 passed, 2 skipped, 3 errors in 9.84s\n";
        let skipped = vec!["Python: a.py:3: not in 3.9".to_owned(); 2];
        assert_eq!(PytestSummary::parse(text), PytestSummary { passed: 188, failed: 4, skipped });
        let nested = format!("SKIPPED [1] b.py:1: another's\n=== short test summary info ===\n{text}");
        assert_eq!(PytestSummary::parse(&nested), PytestSummary::parse(text));
        assert_eq!(PytestSummary::parse("189 passed in 144.78s (0:02:24)\n").passed, 189);
        assert_eq!(PytestSummary::parse("no tests ran\n"), PytestSummary::default());
    }
}
