//! The test programs of the workspace: which there are, and running them.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

/// Inputs of a property test in the everyday loop; proptest takes 256 if not told.
const FEW_CASES: &str = "32";

/// Kills of the storm in the everyday loop; 60 if not told.
const FEW_KILLS: &str = "20";

/// What boots guests: with others beside them these would miss their deadlines.
const ALONE: [&str; 1] = ["guest"];

/// What measures this machine, traces it, or packs: minutes, in which a change of words or sums is not judged.
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

/// Those that take longest begin first, so that none of them is left at the end with nobody beside it.
const LONGEST: [&str; 11] = [
    "causes",
    "measuring",
    "results",
    "howlate_analyse",
    "browser",
    "consumers",
    "gaps",
    "storm",
    "howlate-lab",
    "fleet",
    "misuse",
];

/// What is the same for all test programs of a run.
pub(super) struct Surroundings<'a> {
    /// The words of the command that starts them, before their own.
    pub(super) before: &'a [&'a str],
    /// Where tests write that they skipped themselves.
    pub(super) skips: &'a Path,
    /// Whether somebody waits: what takes long skips itself, and of random inputs a few are enough.
    pub(super) is_fast: bool,
}

/// A test program, as cargo built it.
pub(super) struct Program {
    /// What is tested: a crate, or the file of an integration test.
    name: String,
    /// Where it is run: the folder of its package, as cargo has it.
    folder: PathBuf,
    executable: PathBuf,
}

/// What a test program printed.
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) took: Duration,
    pub(super) is_success: bool,
}

/// Builds with `cargo`, which says in JSON what it built; the longest first, then the other integration tests.
pub(super) fn built(mut cargo: Command) -> io::Result<Vec<Program>> {
    let mut child = cargo.stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().ok_or_else(|| io::Error::other("cargo has no output"))?;
    let lines = BufReader::new(out).lines().map_while(Result::ok);
    let mut found: Vec<(bool, Program)> = lines.filter_map(|line| program(&line)).collect();
    if !child.wait()?.success() {
        return Err(io::Error::other("the tests cannot be built"));
    }
    let place = |name: &str| LONGEST.iter().position(|long| *long == name).unwrap_or(LONGEST.len());
    found.sort_by_key(|(is_integration, program)| (place(&program.name), !is_integration));
    Ok(found.into_iter().map(|(_, program)| program).collect())
}

/// The test program of an artifact's message, and whether it is of an integration test.
fn program(message: &str) -> Option<(bool, Program)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let program = Program {
        name: message["target"]["name"].as_str()?.to_owned(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
    };
    Some((message["target"]["kind"][0] == "test", program))
}

/// Runs them, so many at a time; `ended` is told of each, in the order in which they end.
pub(super) fn run(
    programs: Vec<Program>,
    at_once: usize,
    surroundings: &Surroundings<'_>,
    ended: &mut dyn FnMut(Ended),
) {
    let rest = Mutex::new(programs.into_iter());
    let next = || rest.lock().ok()?.next();
    std::thread::scope(|scope| {
        let (sender, results) = channel();
        for _ in 0..at_once {
            let sender: Sender<Ended> = sender.clone();
            scope
                .spawn(move || while next().is_some_and(|one| sender.send(one.run(surroundings)).is_ok()) {});
        }
        drop(sender);
        results.iter().for_each(&mut *ended);
    });
}

impl Program {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn takes_minutes(&self) -> bool {
        SLOW.contains(&self.name.as_str())
    }

    /// Whether nothing else may run beside it.
    pub(super) fn needs_the_machine(&self) -> bool {
        ALONE.contains(&self.name.as_str())
    }

    fn command(&self, before: &[&str]) -> Command {
        let Some((first, rest)) = before.split_first() else { return Command::new(&self.executable) };
        let mut command = Command::new(first);
        command.args(rest).arg(&self.executable);
        command
    }

    fn run(self, surroundings: &Surroundings<'_>) -> Ended {
        let (began, temporary) = (now(), temporary());
        let mut command = self.command(surroundings.before);
        command.envs(temporary.iter().map(|folder| ("TMPDIR", folder.path())));
        command.current_dir(&self.folder).env("HOWLATE_SKIPS", surroundings.skips);
        if surroundings.is_fast {
            command
                .env("HOWLATE_FAST", "1")
                .env("PROPTEST_CASES", FEW_CASES)
                .env("HOWLATE_STORM_KILLS", FEW_KILLS);
        }
        let (text, is_success) = match command.output() {
            Ok(output) => {
                let both = [output.stdout, output.stderr].concat();
                (String::from_utf8_lossy(&both).into_owned(), output.status.success())
            }
            Err(error) => (format!("{} does not start: {error}\n", self.executable.display()), false),
        };
        Ended { name: self.name, text, took: now().saturating_sub(began), is_success }
    }
}

/// `CLOCK_MONOTONIC`.
fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// A folder for temporary files that anybody may write, as `/tmp` is: tests look for what was left in there, which
/// may not be another program's. `None` where it cannot be made: then they share one.
fn temporary() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().ok()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).ok()?;
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_what_else_is_built() {
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/a/crates/b/Cargo.toml",
            "target":{"kind":["test"],"name":"ends"},"profile":{"test":true},"executable":"/a/target/ends-1"}"#;
        let (is_integration, program_of) = program(test).unwrap();
        assert!(is_integration);
        assert_eq!(
            (program_of.name.as_str(), program_of.folder.as_path()),
            ("ends", Path::new("/a/crates/b"))
        );
        assert!(program(&test.replace("\"test\":true", "\"test\":false")).is_none());
        assert!(program(&test.replace("\"/a/target/ends-1\"", "null")).is_none());
        assert!(program("warning: unused").is_none());
    }

    #[test]
    fn each_is_run_and_one_that_does_not_start_is_no_success() {
        let of = |executable: &str| Program {
            name: executable.to_owned(),
            folder: PathBuf::from("/"),
            executable: executable.into(),
        };
        for before in [&[][..], &["env", "--"]] {
            let mut ended = Vec::new();
            let programs = ["true", "false", "/is/not/there"].map(of).into();
            let surroundings = Surroundings { before, skips: Path::new("/dev/null"), is_fast: true };
            run(programs, 2, &surroundings, &mut |one| ended.push((one.name, one.is_success)));
            ended.sort();
            let expected = [("/is/not/there", false), ("false", false), ("true", true)];
            assert_eq!(ended, expected.map(|(name, is_success)| (name.to_owned(), is_success)));
        }
    }
}
