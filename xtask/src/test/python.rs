//! The Python package as people get it: built as a wheel, installed in an environment of its own, tested there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Tally, root};
use crate::cross::target_folder;
use crate::python::{Environment, TOOLS, maturin, output};

/// Other Pythons that are tested where they are installed, but for what needs libraries: the oldest that is
/// supported, and the newest ones.
const OTHERS: [&str; 4] = ["python3.9", "python3.13", "python3.14", "python3.15"];

/// What pytest is asked for by those.
const WITHOUT_LIBRARIES: [&str; 5] = [
    "test_recordings.py",
    "test_schemas.py",
    "test_thread_settings.py",
    "test_event_loop.py",
    "test_pytest_plugin.py",
];

/// Runs everything, and adds the numbers up.
pub(super) fn run(tally: &mut Tally) {
    println!("== Python package");
    let target = target_folder(root());
    let made = environments(&target).and_then(|(tools, tests)| Ok((wheel(&tools, &target)?, tests)));
    let (wheel, tests) = match made {
        Ok(made) => made,
        // Without a registry, or without Python, there is nothing to test with.
        Err(error) => {
            return tally.skip(&format!("the Python package cannot be built or installed here: {error}"));
        }
    };
    check(tally, "types", tests.command("mypy").current_dir(root().join("python")));
    check(tally, "what PyPI asks of a wheel", tests.command("twine").args(["check", "--strict"]).arg(&wheel));
    check(tally, "which systems it is for", tests.command("auditwheel").arg("show").arg(&wheel));
    pytest(tally, &tests, &wheel, &["."]);
    for python in OTHERS {
        let name = format!("other-{python}");
        match Environment::provide(&target, &name, python, &["pytest<10"]) {
            Ok(other) => pytest(tally, &other, &wheel, &WITHOUT_LIBRARIES),
            Err(error) => tally.skip(&format!("the package in {python}: {error}")),
        }
    }
}

fn environments(target: &Path) -> io::Result<(Environment, Environment)> {
    let requirements = fs::read_to_string(root().join("python/tests/requirements.txt"))?;
    let packages: Vec<&str> = requirements.lines().filter(|line| !line.starts_with('#')).collect();
    let tools = Environment::provide(target, "tools", "python3", &TOOLS)?;
    Ok((tools, Environment::provide(target, "tests", "python3", &packages)?))
}

/// The wheel with the program of `cargo run --release`: built as that is, so that it is built once.
fn wheel(tools: &Environment, target: &Path) -> io::Result<PathBuf> {
    let settings = [("CARGO_TARGET_DIR".to_owned(), target.as_os_str().to_owned())];
    maturin(tools, root(), &target.join("python/wheel"), &["build", "--profile", "release"], &settings)
}

/// One check that succeeds or fails.
fn check(tally: &mut Tally, name: &str, command: &mut Command) {
    match output(command) {
        Ok(_) => tally.passed += 1,
        Err(error) => {
            println!("FAILED: Python: {name}: {error}");
            tally.failed += 1;
        }
    }
}

/// Installs the wheel, and runs tests of `python/tests` with it.
fn pytest(tally: &mut Tally, environment: &Environment, wheel: &Path, tests: &[&str]) {
    let words = [OsStr::new("--force-reinstall"), OsStr::new("--no-deps"), wheel.as_os_str()];
    if let Err(error) = environment.install(&words) {
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
    // The wheel's own is that of the first command, which is without. Where tests of Rust were built, theirs has it.
    let with_parquet = crate::cross::target_folder(root()).join("debug/howlate");
    if with_parquet.exists() {
        pytest.env("HOWLATE_WITH_PARQUET", with_parquet);
    }
    // Not from where the sources are: what is tested is what was installed.
    let output = pytest.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(environment.folder()).output();
    let Ok(output) = output else {
        println!("FAILED: Python: pytest does not start");
        tally.failed += 1;
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    let counted = Counted::parse(&text);
    tally.passed += counted.passed;
    tally.failed += counted.failed;
    counted.skipped.iter().for_each(|reason| tally.skip(reason));
    tally.ran_to_the_end &= output.status.success();
}

/// What pytest counted.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
}

impl Counted {
    /// Reads `1 failed, 188 passed, 2 skipped, 1 error in 9.84s`, and `SKIPPED [2] path:1: reason`.
    fn parse(text: &str) -> Self {
        let last = text.lines().rev().find(|line| line.contains(" in ")).unwrap_or_default();
        let words: Vec<&str> = last.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let number = |name: &str| {
            let pair = words.windows(2).find(|pair| pair[1].trim_end_matches('s') == name);
            pair.and_then(|pair| pair[0].parse::<u64>().ok()).unwrap_or(0)
        };
        // What failed has shown its output above, which may be another pytest's.
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
        assert_eq!(Counted::parse(text), Counted { passed: 188, failed: 4, skipped });
        let nested = format!("SKIPPED [1] b.py:1: another's\n=== short test summary info ===\n{text}");
        assert_eq!(Counted::parse(&nested), Counted::parse(text));
        assert_eq!(Counted::parse("189 passed in 144.78s (0:02:24)\n").passed, 189);
        assert_eq!(Counted::parse("no tests ran\n"), Counted::default());
    }
}
