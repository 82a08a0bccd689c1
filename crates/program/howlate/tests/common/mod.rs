//! Helpers for all test programs of this crate.

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

/// The program, independent of the settings of the user who runs the tests.
pub(crate) fn howlate(arguments: &[&str]) -> Command {
    handle_ignored_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_howlate"));
    command.args(arguments).env("COLUMNS", "100").env_remove("NO_COLOR");
    // A history of runs of its own.
    command.env("XDG_DATA_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/data"));
    // Programs of the tests reach no recorder by default.
    command.env("HOWLATE_RECORDER", "");
    command
}

/// `nohup`, and shells for background jobs, make children inherit ignored signals. A signal with a handler is not inherited as ignored.
pub(crate) fn handle_ignored_signals() {
    let status = Status::read_own(&Root::live());
    for signal in [SIGHUP, SIGINT].into_iter().filter(|signal| status.ignores(*signal)) {
        signal_hook::flag::register(signal, Arc::default()).unwrap();
    }
}

/// Runs the program; JSON is whole, where there are more than answers of bounded size.
pub(crate) fn run(arguments: &[&str]) -> Output {
    howlate(&with_details(arguments)).output().unwrap()
}

/// The arguments with `--details` behind `--json`, of commands that have both.
pub(crate) fn with_details<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    const BOUNDED: [&str; 9] = ["show", "why", "watch", "cyclic", "sleep", "notify", "run", "top", "gaps"];
    let mut arguments = arguments.to_vec();
    let is_bounded = arguments.first().is_some_and(|command| BOUNDED.contains(command));
    let json =
        arguments.iter().take_while(|argument| **argument != "--").position(|argument| *argument == "--json");
    if let Some(json) = json.filter(|_| is_bounded && !arguments.contains(&"--details")) {
        arguments.insert(json + 1, "--details");
    }
    arguments
}

/// Runs the program, and parses the JSON that it prints; it must end with `status`.
#[track_caller]
pub(crate) fn json(arguments: &[&str], status: i32) -> Value {
    let output = run(arguments);
    let outputs = || format!("{arguments:?}: {}{}", stderr(&output), stdout(&output));
    assert_eq!(output.status.code(), Some(status), "{}", outputs());
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The commands in `howlate help --all`, except `help`.
pub(crate) fn commands() -> Vec<String> {
    let help = stdout(&run(&["help", "--all"]));
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Continuation lines are indented further.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !matches!(*name, "" | "help")).map(str::to_owned).collect()
}

/// Values of an option, as the error about an invalid value lists them.
#[track_caller]
pub(crate) fn values(command: &str, option: &str) -> Vec<String> {
    let message = stderr(&run(&[command, option, "?"]));
    let values = ["[possible values: ", "choose from "].iter().find_map(|before| message.split_once(before));
    let values = values.unwrap_or_else(|| panic!("{command} {option}: {message}")).1;
    let values = values.split([']', '\n']).next().unwrap();
    values.split(", ").map(str::to_owned).collect()
}

/// Whether a program is on the path. A program that is there and fails is no reason to skip a test.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this machine permits real-time priorities.
pub(crate) fn may_use_realtime() -> bool {
    let output = run(&["cyclic", "--policy", "fifo:1", "--samples", "1", "--threads", "1", "--quiet"]);
    output.status.code() == Some(0)
}

/// User id of `nobody`.
pub(crate) const NOBODY: u32 = 65_534;

/// A folder owned by `nobody` (or by this user, unless root) with a copy of the program that any user may execute.
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

    /// The program without privileges: as `nobody` where the tests run as root.
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

/// Copies the program by a child process: while this process has the file open for writing, children of other tests would inherit
/// the descriptor, and a file open for writing cannot be executed.
pub(crate) fn copy_program(to: &Path) {
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_howlate")).arg(to).status().unwrap();
    assert!(status.success(), "{}", to.display());
}

/// Shared libraries of a program by `ldd`, with the loader; empty for a static program.
pub(crate) fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    stdout(&output).split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// Copies the shared libraries of the program below `root`.
pub(crate) fn copy_libraries(root: &Path) {
    for library in libraries(Path::new(env!("CARGO_BIN_EXE_howlate"))) {
        let place = root.join(library.strip_prefix("/").unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(&library, place).unwrap();
    }
}

/// A run in the background, killed on drop.
pub(crate) struct Background {
    pub(crate) child: Option<Child>,
    pub(crate) recording: PathBuf,
    _folder: TempDir,
}

impl Background {
    /// Starts a measurement with a recording, and waits for its start.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[], "\"started\"")
    }

    /// As `start`, with more arguments; waits until the recording contains `text`.
    pub(crate) fn start_with(arguments: &[&str], more_arguments: &[&str], text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("run.jsonl");
        let mut command = howlate(arguments);
        command.arg("--out").arg(&recording).args(more_arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Some(command.spawn().unwrap());
        let background = Self { child, recording, _folder: folder };
        background.wait_for(text);
        background
    }

    pub(crate) fn wait_for(&self, text: &str) {
        // 90 s: a guest on a busy machine takes a while to boot.
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

    pub(crate) fn wait_until_stopped(&self) {
        let file = format!("/proc/{}/stat", self.child.as_ref().unwrap().id());
        wait_until("a stopped process", || std::fs::read_to_string(&file).unwrap().contains(") T "));
    }

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

/// A private mount namespace with its own `/run` and its own value of one setting.
pub(crate) struct OwnSettings {
    folder: TempDir,
}

/// A setting of every machine.
pub(crate) const SETTING: &str = "/proc/sys/vm/stat_interval";
pub(crate) const SETTING_NAME: &str = "vm.stat_interval";

impl OwnSettings {
    /// The setting starts at 1; `None` without the permission to mount.
    pub(crate) fn new() -> Option<Self> {
        let folder = is_root().then(|| tempfile::tempdir().unwrap())?;
        std::fs::create_dir(folder.path().join("run")).unwrap();
        std::fs::write(folder.path().join("setting"), "1\n").unwrap();
        Some(Self { folder })
    }

    pub(crate) fn value(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap().trim().to_owned()
    }

    /// The file bind-mounted over the setting.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("setting")
    }

    /// The folder mounted as `/run`.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// The program in the namespace; `prepare` is a shell script that runs before it.
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

    pub(crate) fn howlate(&self, arguments: &[&str]) -> Command {
        self.howlate_after("", arguments)
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, value: &str) {
        wait_until(&format!("the setting at {value}"), || self.value() == value);
    }
}

/// Arguments of `howlate tune` with these settings and the shortest turns.
pub(crate) fn tune_shortly<'a>(knobs: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let arguments = ["tune", "sleep", "--for", "1ms", "--samples", "2", "--knobs", knobs];
    [&arguments[..], more].concat()
}

/// Waits up to 60 s for a condition.
#[track_caller]
pub(crate) fn wait_until(event: &str, mut has_happened: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if has_happened() {
            return;
        }
        pause(10);
    }
    panic!("there never was {event}");
}

/// Threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    howlate_procfs::threads(&Root::live(), pid)
}

/// The next line that a program prints.
pub(crate) fn read_line_of(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

/// Response of a server to `GET`; empty without a response.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut answer = String::new();
    let result = TcpStream::connect(address).and_then(|mut stream| {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        stream.read_to_string(&mut answer)
    });
    result.map_or_else(|_| String::new(), |_| answer)
}

/// Child processes of `pid`, with their first arguments.
pub(crate) fn children(pid: u32) -> Vec<(u32, String)> {
    let root = howlate_procfs::Root::live();
    let child = |pid: u32| {
        let arguments = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, arguments.split('\0').nth(1).unwrap_or_default().to_owned())
    };
    howlate_procfs::children(&root, pid).into_iter().map(child).collect()
}

/// Identifies a program and all its children by a variable of their environment.
pub(crate) struct MarkedProcesses {
    pub(crate) variable: &'static str,
    pub(crate) value: String,
}

/// A process with its command line.
pub(crate) struct MarkedProcess {
    pub(crate) pid: u32,
    pub(crate) arguments: Vec<String>,
}

impl MarkedProcesses {
    pub(crate) fn by(variable: &'static str, value: &str) -> Self {
        Self { variable, value: value.to_owned() }
    }

    pub(crate) fn processes(&self) -> Vec<MarkedProcess> {
        let mark = format!("{}={}", self.variable, self.value);
        let process = |entry: std::fs::DirEntry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let parts = |file: &str| {
                let text = std::fs::read(entry.path().join(file)).ok()?;
                Some(text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>())
            };
            let is_marked = parts("environ")?.iter().any(|variable| variable == mark.as_bytes());
            let arguments = parts("cmdline")?;
            // Zombies have an empty command line.
            let is_alive = is_marked && arguments.iter().any(|word| !word.is_empty());
            let legible = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
            is_alive.then(|| MarkedProcess { pid, arguments: arguments.iter().map(legible).collect() })
        };
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| process(entry.ok()?)).collect()
    }
}

pub(crate) fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

pub(crate) fn pause(millis: u64) {
    howlate_linux::clock::sleep_for(howlate_model::Span::from_millis(millis)).unwrap();
}

/// The result of a recording: the output of `howlate show --format json`.
pub(crate) fn show_json(recording: &Path) -> Value {
    json(&["show", "--json", recording.to_str().unwrap()], 0)
}

/// Validates a document against `docs/NAME.schema.json`.
#[track_caller]
pub(crate) fn assert_valid(document: &Value, name: &str) {
    let path = format!("{}/../../../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Whether a result has a caveat of this kind.
pub(crate) fn has_caveat(result: &Value, kind: &str) -> bool {
    let has_kind = |value: &Value| {
        value["caveats"]
            .as_array()
            .is_some_and(|caveats| caveats.iter().any(|caveat| caveat["caveat"] == kind))
    };
    has_kind(result) || result["results"].as_array().is_some_and(|results| results.iter().any(has_kind))
}

/// Sum of a field over the parts or causes of a wake-up.
pub(crate) fn sum(parts: &Value, key: &str) -> i64 {
    parts.as_array().unwrap().iter().map(|part| part[key].as_i64().unwrap()).sum()
}

/// Compiles a C program with `options`; `None` without a compiler.
pub(crate) fn build_c(source: &Path, program: &Path, options: &[&str]) -> Option<()> {
    if !is_installed("cc") {
        skip("cc is not installed");
        return None;
    }
    let output = Command::new("cc").args(options).arg(source).arg("-o").arg(program).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(())
}

/// Whether bpf can be used here; skips the test otherwise.
pub(crate) fn has_bpf() -> bool {
    let output = run(&["watch", "--tracer", "bpf", "--quiet", "--", "true"]);
    let message = stderr(&output);
    assert!(!message.contains("the kernel refuses to"), "{message}");
    if output.status.code() == Some(2) {
        skip(&message);
    }
    output.status.code() == Some(0)
}
