//! Builds and runs the test programs of the workspace.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::Value;

use super::stages::now;

/// Inputs per property test with `--fast`; proptest's default is 256.
const FAST_CASES: &str = "32";

/// The test program that boots guests, which would miss their deadlines beside tests that keep all CPUs busy.
const GUESTS: &str = "guest";

/// Test programs that measure or trace this machine, or build packages, which takes minutes: left out with `--fast`.
const SLOW: [&str; 18] = [
    "browser",
    "causes",
    "consumers",
    "containers",
    "fair_server",
    "fleet",
    "gaps",
    "guest",
    "kernels",
    "late",
    "live",
    "measuring",
    "minute",
    "misuse",
    "packaging",
    "results",
    "storm",
    "waiting",
];

/// Test programs that only compute, and do so for long: they run beside guests, which leave a CPU idle, at the lowest priority.
const COMPUTING: [&str; 4] = ["circles", "howlate_analyse", "packaging", "xtask"];

/// Modules whose tests take a minute, and their program: left out with `--fast`. They simulate thousands of recordings, or measure.
const LONG_TESTS: [(&str, &str); 2] = [("howlate_analyse", "simulation::tests"), ("howlate-lab", "truth::")];

/// The longest test programs, which start first, so that none of them runs alone at the end.
const LONGEST: [&str; 10] = [
    "causes",
    "measuring",
    "results",
    "browser",
    "consumers",
    "gaps",
    "storm",
    "howlate-lab",
    "fleet",
    "misuse",
];

/// Settings of all test programs of a run.
pub(super) struct RunSettings<'a> {
    /// Command that goes before that of the test program; may be empty.
    pub(super) wrapper: &'a [&'a str],
    /// File to which tests append why they skipped themselves.
    pub(super) skips: &'a Path,
    /// With `--fast`: long tests skip themselves, and property tests try fewer inputs.
    pub(super) is_fast: bool,
}

/// A test program that cargo built.
pub(super) struct TestExecutable {
    /// The crate, or the file of an integration test.
    name: String,
    /// The folder of its package, in which it runs, as under `cargo test`.
    folder: PathBuf,
    executable: PathBuf,
}

/// Result of a test program.
pub(super) struct TestRun {
    pub(super) name: String,
    /// Standard output, then standard error.
    pub(super) output: String,
    pub(super) duration: Duration,
    pub(super) is_success: bool,
}

/// Builds with `cargo`, which lists what it built as JSON. Returns the longest programs first, then the other integration tests.
pub(super) fn build(mut cargo: Command) -> io::Result<Vec<TestExecutable>> {
    let mut child = cargo.stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().ok_or_else(|| io::Error::other("cargo has no output"))?;
    let lines = BufReader::new(out).lines().map_while(Result::ok);
    let mut found: Vec<(bool, TestExecutable)> = lines.filter_map(|line| parse_artifact(&line)).collect();
    if !child.wait()?.success() {
        return Err(io::Error::other("the tests cannot be built"));
    }
    let place = |name: &str| LONGEST.iter().position(|longest| *longest == name).unwrap_or(LONGEST.len());
    found.sort_by_key(|(is_integration, program)| (place(&program.name), !is_integration));
    Ok(found.into_iter().map(|(_, program)| program).collect())
}

/// The test program of a message about an artifact, and whether it is an integration test.
fn parse_artifact(message: &str) -> Option<(bool, TestExecutable)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let program = TestExecutable {
        name: message["target"]["name"].as_str()?.to_owned(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
    };
    Some((message["target"]["kind"][0] == "test", program))
}

/// Runs `at_once` programs at a time; calls `on_end` with each result, in the order in which they end.
pub(super) fn run(
    programs: Vec<TestExecutable>,
    at_once: usize,
    settings: &RunSettings<'_>,
    on_end: &mut dyn FnMut(TestRun),
) {
    let rest = Mutex::new(programs.into_iter());
    let next = || rest.lock().ok()?.next();
    std::thread::scope(|scope| {
        let (sender, results) = channel();
        for _ in 0..at_once {
            let sender: Sender<TestRun> = sender.clone();
            scope.spawn(
                move || while next().is_some_and(|program| sender.send(program.run(settings)).is_ok()) {},
            );
        }
        drop(sender);
        results.iter().for_each(&mut *on_end);
    });
}

impl TestExecutable {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn takes_minutes(&self) -> bool {
        SLOW.contains(&self.name.as_str())
    }

    pub(super) fn boots_guests(&self) -> bool {
        self.name == GUESTS
    }

    pub(super) fn only_computes(&self) -> bool {
        COMPUTING.contains(&self.name.as_str())
    }

    /// The module that is left out with `--fast`.
    pub(super) fn long_tests(&self) -> Option<&'static str> {
        LONG_TESTS.iter().find(|(program, _)| *program == self.name).map(|(_, module)| *module)
    }

    fn command(&self, wrapper: &[&str]) -> Command {
        let Some((first, rest)) = wrapper.split_first() else { return Command::new(&self.executable) };
        let mut command = Command::new(first);
        command.args(rest).arg(&self.executable);
        command
    }

    fn run(self, settings: &RunSettings<'_>) -> TestRun {
        let (began, temporary) = (now(), temporary_folder());
        let mut command = self.command(settings.wrapper);
        command.envs(temporary.iter().map(|folder| ("TMPDIR", folder.path())));
        command.current_dir(&self.folder).env("HOWLATE_SKIPS", settings.skips);
        if settings.is_fast {
            command
                .args(self.long_tests().into_iter().flat_map(|module| ["--skip", module]))
                .env("PROPTEST_CASES", FAST_CASES);
        }
        let (output, is_success) = match command.output() {
            Ok(output) => {
                let both = [output.stdout, output.stderr].concat();
                (String::from_utf8_lossy(&both).into_owned(), output.status.success())
            }
            Err(error) => (format!("{} does not start: {error}\n", self.executable.display()), false),
        };
        TestRun { name: self.name, output, duration: now().saturating_sub(began), is_success }
    }
}

/// A folder for temporary files, writable by all users like `/tmp`. Each test program has its own, as tests look for files that were
/// left in there. `None` if it cannot be created: the program then uses the shared one.
fn temporary_folder() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().ok()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).ok()?;
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_distinguished_from_other_artifacts() {
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/a/crates/b/Cargo.toml",
            "target":{"kind":["test"],"name":"ends"},"profile":{"test":true},"executable":"/a/target/ends-1"}"#;
        let (is_integration, program) = parse_artifact(test).unwrap();
        assert!(is_integration);
        assert_eq!((program.name.as_str(), program.folder.as_path()), ("ends", Path::new("/a/crates/b")));
        assert!(parse_artifact(&test.replace("\"test\":true", "\"test\":false")).is_none());
        assert!(parse_artifact(&test.replace("\"/a/target/ends-1\"", "null")).is_none());
        assert!(parse_artifact("warning: unused").is_none());
    }

    #[test]
    fn each_is_run_and_one_that_does_not_start_is_no_success() {
        let program = |executable: &str| TestExecutable {
            name: executable.to_owned(),
            folder: PathBuf::from("/"),
            executable: executable.into(),
        };
        for wrapper in [&[][..], &["env", "--"]] {
            let mut ended = Vec::new();
            let programs = ["true", "false", "/is/not/there"].map(program).into();
            let settings = RunSettings { wrapper, skips: Path::new("/dev/null"), is_fast: true };
            run(programs, 2, &settings, &mut |run| ended.push((run.name, run.is_success)));
            ended.sort();
            let expected = [("/is/not/there", false), ("false", false), ("true", true)];
            assert_eq!(ended, expected.map(|(name, is_success)| (name.to_owned(), is_success)));
        }
    }
}
