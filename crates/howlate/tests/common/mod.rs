//! What the tests of the program share.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The program, its settings independent of whoever runs the tests.
pub(crate) fn howlate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_howlate"));
    command.args(arguments).env("COLUMNS", "100").env_remove("NO_COLOR");
    command
}

/// Runs it to the end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    howlate(arguments).output().unwrap()
}

/// Runs it and reads the JSON that it prints; it must end with `status`.
#[track_caller]
pub(crate) fn json(arguments: &[&str], status: i32) -> Value {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Says why a test did not run, and has it counted by `cargo xtask test`.
#[allow(clippy::print_stderr, reason = "read by whoever runs the tests")]
pub(crate) fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    eprintln!("skipped {test}: {reason}");
    if let Some(path) = std::env::var_os("HOWLATE_SKIPS") {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{test}: {reason}").unwrap();
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this machine lets the tests use real-time priorities.
pub(crate) fn may_use_realtime() -> bool {
    let output = run(&["cyclic", "--policy", "fifo:1", "--samples", "1", "--threads", "1", "--quiet"]);
    output.status.code() == Some(0)
}

/// A folder that anyone may enter, with a copy of the program that anyone may start.
pub(crate) struct ForAnyone {
    pub(crate) folder: TempDir,
    program: PathBuf,
}

impl ForAnyone {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let program = folder.path().join("howlate");
        std::fs::copy(env!("CARGO_BIN_EXE_howlate"), &program).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, program }
    }

    /// The program without any privilege: as `nobody` when the tests run as root.
    pub(crate) fn howlate(&self, arguments: &[&str]) -> Command {
        const NOBODY: u32 = 65_534;
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("COLUMNS", "100")
            .env("HOME", self.folder.path())
            .current_dir(self.folder.path());
        command.env_remove("XDG_DATA_HOME");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// A run in the background; killed when dropped.
pub(crate) struct Background {
    pub(crate) child: Option<Child>,
    pub(crate) recording: PathBuf,
    _folder: TempDir,
}

impl Background {
    /// Starts a measurement with a recording, and waits until it has begun.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[], "\"started\"")
    }

    /// The same with words after those that ask for the recording; waits until that holds `text`.
    pub(crate) fn start_with(arguments: &[&str], last: &[&str], text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("run.jsonl");
        let mut command = howlate(arguments);
        command.arg("--out").arg(&recording).args(last);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Some(command.spawn().unwrap());
        let background = Self { child, recording, _folder: folder };
        background.wait_for(text);
        background
    }

    /// Waits until the recording holds `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        // A guest on a busy machine takes a while to boot.
        for _ in 0..9_000 {
            if std::fs::read_to_string(&self.recording).is_ok_and(|content| content.contains(text)) {
                return;
            }
            pause(10);
        }
        panic!("the recording never held {text}");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(self.child.as_ref().unwrap());
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end.
    pub(crate) fn output(&mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Waits at least this long.
pub(crate) fn pause(millis: u64) {
    howlate_linux::clock::pause(howlate_model::Span::from_millis(millis)).unwrap();
}

/// The result of a recording, as `howlate show --format json` prints it.
pub(crate) fn shown(recording: &Path) -> Value {
    json(&["show", "--format", "json", recording.to_str().unwrap()], 0)
}

/// Whether any caveat of a result is of this kind.
pub(crate) fn has_caveat(result: &Value, kind: &str) -> bool {
    let of = |value: &Value| {
        value["caveats"].as_array().is_some_and(|all| all.iter().any(|one| one["caveat"] == kind))
    };
    of(result) || result["results"].as_array().is_some_and(|results| results.iter().any(of))
}
