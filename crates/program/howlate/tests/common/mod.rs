//! What the tests of the program share.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use howlate_procfs::{Root, Status};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT};
use tempfile::TempDir;

#[allow(unused_imports, reason = "each test program uses its part")]
pub(crate) use howlate_testing::skip;

/// The program, its settings independent of whoever runs the tests.
pub(crate) fn howlate(arguments: &[&str]) -> Command {
    take_what_is_ignored();
    let mut command = Command::new(env!("CARGO_BIN_EXE_howlate"));
    command.args(arguments).env("COLUMNS", "100").env_remove("NO_COLOR");
    // Runs are kept, but not among those of whoever runs the tests.
    command.env("XDG_DATA_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/data"));
    // Nobody's programs reach a recorder of tests.
    command.env("HOWLATE_RECORDER", "");
    command
}

/// `nohup`, and shells for what runs behind, have signals ignored, which programs that are started inherit; those that
/// have a handler they do not.
pub(crate) fn take_what_is_ignored() {
    let status = Status::read_own(&Root::live());
    for signal in [SIGHUP, SIGINT].into_iter().filter(|signal| status.ignores(*signal)) {
        signal_hook::flag::register(signal, Arc::default()).unwrap();
    }
}

/// Runs it to the end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    howlate(arguments).output().unwrap()
}

/// Runs it and reads the JSON that it prints; it must end with `status`.
#[track_caller]
pub(crate) fn json(arguments: &[&str], status: i32) -> Value {
    let output = run(arguments);
    let found = || format!("{arguments:?}: {}{}", stderr(&output), stdout(&output));
    assert_eq!(output.status.code(), Some(status), "{}", found());
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The commands that `help --all` lists, but for `help`.
pub(crate) fn commands() -> Vec<String> {
    let help = stdout(&run(&["help", "--all"]));
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What goes on from the line above is further in.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !matches!(*name, "" | "help")).map(str::to_owned).collect()
}

/// The values that an option takes, which the program lists when it refuses another.
#[track_caller]
pub(crate) fn values(command: &str, option: &str) -> Vec<String> {
    let said = stderr(&run(&[command, option, "?"]));
    let list = ["[possible values: ", "choose from "].iter().find_map(|before| said.split_once(before));
    let list = list.unwrap_or_else(|| panic!("{command} {option}: {said}")).1;
    let list = list.split([']', '\n']).next().unwrap();
    list.split(", ").map(str::to_owned).collect()
}

/// Whether a program is on the path; one that is there and fails is no reason to skip a test.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this machine lets the tests use real-time priorities.
pub(crate) fn may_use_realtime() -> bool {
    let output = run(&["cyclic", "--policy", "fifo:1", "--samples", "1", "--threads", "1", "--quiet"]);
    output.status.code() == Some(0)
}

const NOBODY: u32 = 65_534;

/// A folder of `nobody`, or of this user unless that is root, with a copy of the program that anyone may start.
pub(crate) struct ForAnyone {
    pub(crate) folder: TempDir,
    program: PathBuf,
}

impl ForAnyone {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let program = folder.path().join("howlate");
        copy_program(&program);
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, program }
    }

    /// The program without any privilege: as `nobody` when the tests run as root.
    pub(crate) fn howlate(&self, arguments: &[&str]) -> Command {
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

/// Copies the program. Not by this process: one that another test starts meanwhile would inherit the open file, and a
/// file that is open for writing cannot be run.
pub(crate) fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_howlate")).arg(to).status().unwrap();
    assert!(copied.success(), "{}", to.display());
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

    /// Waits until a signal has stopped it.
    pub(crate) fn wait_until_stopped(&self) {
        let file = format!("/proc/{}/stat", self.child.as_ref().unwrap().id());
        wait_until("a stopped process", || std::fs::read_to_string(&file).unwrap().contains(") T "));
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

/// The settings of a machine of its own: one setting and a `/run` that nobody else sees.
pub(crate) struct OwnSettings {
    folder: TempDir,
}

/// A setting that any machine has.
pub(crate) const SETTING: &str = "/proc/sys/vm/stat_interval";
/// Its name in plans.
pub(crate) const SETTING_NAME: &str = "vm.stat_interval";

impl OwnSettings {
    /// With the setting at 1; `None` without the right to mount.
    pub(crate) fn new() -> Option<Self> {
        let folder = is_root().then(|| tempfile::tempdir().unwrap())?;
        std::fs::create_dir(folder.path().join("run")).unwrap();
        std::fs::write(folder.path().join("setting"), "1\n").unwrap();
        Some(Self { folder })
    }

    /// What the setting holds.
    pub(crate) fn value(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap().trim().to_owned()
    }

    /// The file behind the setting.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("setting")
    }

    /// What is `/run` there.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// The program in there, after `prepare`, a script of the shell.
    pub(crate) fn howlate_after(&self, prepare: &str, arguments: &[&str]) -> Command {
        let script = format!(
            "mount --bind \"$1\" {SETTING} && mount --bind \"$2\" /run && {prepare} shift 2; exec \"$@\""
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.arg(self.file()).arg(self.run()).arg(env!("CARGO_BIN_EXE_howlate")).args(arguments);
        command.env("COLUMNS", "100").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The program in there.
    pub(crate) fn howlate(&self, arguments: &[&str]) -> Command {
        self.howlate_after("", arguments)
    }

    /// Waits until the setting holds `value`.
    #[track_caller]
    pub(crate) fn wait_for(&self, value: &str) {
        wait_until(&format!("the setting at {value}"), || self.value() == value);
    }
}

/// `howlate tune` of these settings in turns that are as short as can be.
pub(crate) fn tune_shortly<'a>(knobs: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["tune", "sleep", "--for", "1ms", "--samples", "2", "--knobs", knobs];
    [&words[..], more].concat()
}

/// Waits until something has happened.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if happened() {
            return;
        }
        pause(10);
    }
    panic!("there never was {what}");
}

/// The first line that a program prints.
pub(crate) fn line_of(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

/// What a server answers to `GET`; nothing where it does not.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut answer = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        stream.read_to_string(&mut answer)
    });
    asked.map_or_else(|_| String::new(), |_| answer)
}

/// The processes that `pid` has started, with their first arguments.
pub(crate) fn children(pid: u32) -> Vec<(u32, String)> {
    let root = howlate_procfs::Root::live();
    let said = |pid: u32| {
        let words = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, words.split('\0').nth(1).unwrap_or_default().to_owned())
    };
    howlate_procfs::children(&root, pid).into_iter().map(said).collect()
}

/// What a program and all that it starts are known by: a variable of their environment.
pub(crate) struct Marked {
    pub(crate) variable: &'static str,
    pub(crate) value: String,
}

/// A process, with its command line.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) words: Vec<String>,
}

impl Marked {
    pub(crate) fn by(variable: &'static str, value: &str) -> Self {
        Self { variable, value: value.to_owned() }
    }

    /// Every process of it.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let mark = format!("{}={}", self.variable, self.value);
        let found = |entry: std::fs::DirEntry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let parts = |file: &str| {
                let text = std::fs::read(entry.path().join(file)).ok()?;
                Some(text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>())
            };
            let is_ours = parts("environ")?.iter().any(|one| one == mark.as_bytes());
            let words = parts("cmdline")?;
            // What has ended has no words.
            let is_there = is_ours && words.iter().any(|word| !word.is_empty());
            let legible = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
            is_there.then(|| Process { pid, words: words.iter().map(legible).collect() })
        };
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| found(entry.ok()?)).collect()
    }
}

/// Sends a signal to any process.
pub(crate) fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// Waits at least this long.
pub(crate) fn pause(millis: u64) {
    howlate_linux::clock::sleep_for(howlate_model::Span::from_millis(millis)).unwrap();
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

/// What the parts of a wake-up, or its causes, are together.
pub(crate) fn sum(parts: &Value, key: &str) -> i64 {
    parts.as_array().unwrap().iter().map(|one| one[key].as_i64().unwrap()).sum()
}

/// Builds a C program from a file, with `options`; `None` where there is no compiler.
pub(crate) fn built_c(source: &Path, program: &Path, options: &[&str]) -> Option<()> {
    if !is_installed("cc") {
        skip("cc is not installed");
        return None;
    }
    let built = Command::new("cc").args(options).arg(source).arg("-o").arg(program).output().unwrap();
    assert!(built.status.success(), "{}", stderr(&built));
    Some(())
}

/// Whether the kernel's programs can be had here; says why not.
pub(crate) fn has_bpf() -> bool {
    let output = run(&["watch", "--tracer", "bpf", "--quiet", "--", "true"]);
    let said = stderr(&output);
    assert!(!said.contains("the kernel refuses to"), "{said}");
    if output.status.code() == Some(2) {
        skip(&said);
    }
    output.status.code() == Some(0)
}
