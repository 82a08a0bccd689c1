//! `SIGTERM` in each stage of each long command: it is obeyed at once, results survive, and no process, setting or file is left behind.
//! Each command in the help has a row here, or ends by itself.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::common::{
    MarkedProcess, MarkedProcesses, OwnSettings, commands, handle_ignored_signals, howlate, pause, send,
    show_json, skip, threads, wait_until,
};
use howlate_linux::clock;
use howlate_model::Span;
use rustix::process::Signal;
use tempfile::TempDir;

/// Above this the program does not react to the signal but waits for the end of its stage, which takes an hour or reads a large file.
/// The tested programs are not optimised and share the machine; normally a fraction of this is enough.
const REACTION_LIMIT: Span = Span::from_secs(20);

/// How a test sees that a stage is reached.
#[derive(Clone, Copy, Debug)]
enum ReadySign {
    /// The process exists; it may not handle signals yet.
    Started,
    /// The recording contains this text.
    Records(&'static str),
    /// A child process whose command line contains this argument, and which is not a fork of the program itself.
    Runs(&'static str),
    Threads(usize),
    Changes,
    /// The output contains this text.
    Prints(&'static str),
    /// It has opened its input, a pipe without data.
    Waits,
    /// It has read this many bytes.
    Reads(u64),
}

use ReadySign::{Changes, Prints, Reads, Records, Runs, Started, Threads, Waits};

/// A command line, and what the test waits for before the signal. `OUT` is the output, `PIPE` an input without data, `LARGE` a very
/// large one, `PLAN` a plan that changes a setting, `PROCESS` the id of a running program.
type Stage = (&'static str, ReadySign);

const MEASURING: [Stage; 19] = [
    ("-q --out OUT", Started),
    ("-q --out OUT", Records("\"block\"")),
    ("cyclic -q --duration 1h --out OUT", Started),
    ("cyclic -q --period 1h --duration 10h --threads 1 --out OUT", Records("\"started\"")),
    ("cyclic -q --duration 1h --threads 1 --load cpu:20% --out OUT", Records("\"block\"")),
    ("cyclic -q --duration 300ms --rounds 1000 --threads 1 --why --out OUT", Records("\"why\"")),
    ("cyclic -q --threads 1 --until 'max<1h: 1 per hour' --out OUT", Records("\"block\"")),
    ("sleep -q --for 1h --samples 9 --out OUT", Records("\"started\"")),
    ("sleep -q --for 1ms --duration 1h --out OUT", Records("\"block\"")),
    ("sleep -q --for 1h --call shell --samples 9 --out OUT", Runs("3600.000000000")),
    ("notify -q --mechanism futex --after 1h --samples 9 --out OUT", Records("\"started\"")),
    ("notify -q --mechanism pipe --after 1ms --duration 1h --out OUT", Records("\"block\"")),
    ("compare --with-itself --duration 1h -- --threads 1", Threads(2)),
    ("why --out OUT", Records("\"why\"")),
    ("cyclictest -q -t 2 -i 1000", Threads(3)),
    ("gaps --cpus 0 --duration 1h", Threads(2)),
    ("oslat --cpu-list 0 --duration 1h", Prints("Pre-heat")),
    ("hwlatdetect --threshold=10000000 --duration=1h", Threads(2)),
    ("cyclicdeadline -i 10000 -D 1h", Prints("T: 0")),
];

const CHANGING: [Stage; 6] = [
    ("run -q PLAN --out OUT", Changes),
    ("run -q PLAN --out OUT", Records("\"block\"")),
    (TUNES, Records("\"block\"")),
    (TUNES, Changes),
    (TUNES_PROGRAM, Records("\"block\"")),
    ("load -q cpu:20% pipe:20%", Runs("__load")),
];

const TUNES: &str = "tune sleep -q --for 1ms --samples 2 --knobs stat_interval --goal p50 --beside-tuners --budget 1h --out OUT";
const TUNES_PROGRAM: &str = "tune program -q PROCESS --knobs timer_slack --goal p50 --turn 40ms --beside-tuners --budget 1h --out OUT";

const WATCHING: [Stage; 10] = [
    ("watch -q --out OUT -- sleep 4000", Started),
    ("watch -q PROCESS --out OUT", Records("\"block\"")),
    ("watch -q --out OUT -- sleep 4000", Runs("4000")),
    ("top --json --interval 1h", Started),
    ("top --json --interval 200ms", Prints("\n")),
    ("top --tracer proc --json --interval 200ms PROCESS", Prints("\n")),
    ("record --out OUT", Prints("Recording")),
    ("selfcheck -q --duration 1h", Runs("__culprit")),
    ("serve --listen 127.0.0.1:0 --process PROCESS", Prints("page")),
    ("serve --listen 127.0.0.1:0 LARGE", Reads(HALF)),
];

const READING: [Stage; 8] = [
    ("show PIPE", Waits),
    ("show LARGE", Reads(HALF)),
    ("why LARGE", Reads(HALF)),
    ("report PIPE -o OUT", Waits),
    ("report LARGE -o OUT", Reads(HALF)),
    ("compare PIPE LARGE", Waits),
    ("compare LARGE LARGE", Reads(HALF)),
    ("merge LARGE LARGE --out OUT", Reads(HALF)),
];

const ELSEWHERE: [Stage; 2] = [
    ("fleet run PLAN -q --on ssh:n1", Runs("4000")),
    ("guest -q --accel tcg --kernel debian:standard --out OUT -- cyclic --duration 1h", Runs("-kernel")),
];

/// Commands that end by themselves: they wait for nothing, and read only small files of the machine.
const BRIEF: [&str; 5] = ["completions", "doctor", "man", "plan-length", "snap"];

/// Commands that need what some machines lack: tracers, a mirror with kernels, or deadlines; and their exit status without it.
const MAY_BE_REFUSED: [(&str, i32); 4] =
    [("cyclicdeadline", 1), ("guest", 2), ("record", 2), ("selfcheck", 2)];

const ALL: u64 = 24 << 20;
const HALF: u64 = ALL / 2;

/// Files and a private namespace, if permitted, for one run.
struct StageWorld {
    folder: TempDir,
    own: Option<OwnSettings>,
    mark: MarkedProcesses,
    sleeper: Option<SleepingProgram>,
}

/// A program that runs on, even if its watcher is killed.
struct SleepingProgram(Child);

impl SleepingProgram {
    fn start() -> Self {
        let arguments = ["sleep", "--for", "1ms", "--duration", "1h", "--quiet", "--no-save"];
        let sleeper = howlate(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("a thread that sleeps", || threads(sleeper.id()).len() > 1);
        Self(sleeper)
    }

    /// Timer slack of its threads.
    fn slacks(&self) -> BTreeSet<String> {
        let slack = |tid: u32| fs::read_to_string(format!("/proc/{tid}/timerslack_ns")).unwrap();
        threads(self.0.id()).into_iter().map(slack).collect()
    }
}

impl Drop for SleepingProgram {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A recording with so many blocks that it is as large as `ALL`.
fn large(path: &Path) {
    let recording =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1/cyclic.jsonl");
    let text = fs::read_to_string(recording).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let blocks: String = rest.split_inclusive('\n').filter(|line| line.starts_with("{\"block\"")).collect();
    let mut file = std::io::BufWriter::new(File::create(path).unwrap());
    writeln!(file, "{header}").unwrap();
    for _ in 0..=ALL / blocks.len() as u64 {
        file.write_all(blocks.as_bytes()).unwrap();
    }
}

const PLAN: &str = "[system]\nvm.stat_interval = 7\n[[cyclic]]\nthreads = 1\nduration = \"1h\"\n";

impl StageWorld {
    fn new(arguments: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("tmp")).unwrap();
        fs::write(at("plan.toml"), PLAN).unwrap();
        // An address that never answers.
        fs::write(at("ssh"), "#!/bin/sh\nexec sleep 4000\n").unwrap();
        fs::set_permissions(at("ssh"), PermissionsExt::from_mode(0o755)).unwrap();
        if arguments.contains("LARGE") {
            large(&at("large.jsonl"));
        }
        if arguments.contains("PIPE") {
            assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        }
        let mark = MarkedProcesses::by("HOWLATE_STAGE", folder.path().to_str().unwrap());
        let sleeper = arguments.contains("PROCESS").then(SleepingProgram::start);
        Self { own: OwnSettings::new(), folder, mark, sleeper }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, arguments: &str) -> Child {
        let in_place = |word: String| match word.as_str() {
            "OUT" => "out".to_owned(),
            "PIPE" => "pipe".to_owned(),
            "LARGE" => "large.jsonl".to_owned(),
            "PLAN" => "plan.toml".to_owned(),
            "PROCESS" => self.sleeper.as_ref().unwrap().0.id().to_string(),
            _ => word,
        };
        let arguments: Vec<String> = shlex::split(arguments).unwrap().into_iter().map(in_place).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command =
            self.own.as_ref().map_or_else(|| howlate(&arguments), |own| own.howlate(&arguments));
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        command.current_dir(self.folder.path()).env("PATH", path).env("TMPDIR", self.at("tmp"));
        command.env("XDG_DATA_HOME", self.at("data")).env(self.mark.variable, &self.mark.value);
        let output_file = File::create(self.at("said")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(output_file.try_clone().unwrap())
            .stderr(output_file)
            .spawn()
            .unwrap()
    }

    fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.at("said")).unwrap()).into_owned()
    }

    /// Whether the stage is reached; the other end of the pipe stays open from then on.
    fn is_ready(&self, pid: u32, ready: ReadySign, pipe: &mut Option<File>) -> bool {
        let proc = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        match ready {
            Started => proc("comm").trim() == "howlate",
            Records(text) => fs::read_to_string(self.at("out")).is_ok_and(|holds| holds.contains(text)),
            // The shell that prepares the namespace has the same arguments.
            Runs(word) => {
                let all = self.mark.processes();
                let own =
                    all.iter().find(|process| process.pid == pid).map(|process| process.arguments.as_slice());
                let runs = |process: &MarkedProcess| {
                    Some(process.arguments.as_slice()) != own && process.arguments.iter().any(|is| is == word)
                };
                proc("comm").trim() == "howlate" && all.iter().any(runs)
            }
            Threads(number) => proc("comm").trim() == "howlate" && threads(pid).len() >= number,
            Changes => self.own.as_ref().is_some_and(|own| own.value() != "1"),
            Prints(text) => self.output().contains(text),
            Waits => {
                let writing = File::options().write(true).custom_flags(NONBLOCK).open(self.at("pipe"));
                *pipe = writing.ok();
                pipe.is_some()
            }
            Reads(bytes) => bytes_read(&proc("io")) >= bytes && proc("comm").trim() == "howlate",
        }
    }
}

const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

fn bytes_read(io: &str) -> u64 {
    let bytes = io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok());
    bytes.unwrap_or(0)
}

/// Brings the program to a stage, sends the signal, and checks what it leaves.
fn end_in((arguments, ready): Stage) {
    let world = StageWorld::new(arguments);
    if matches!(ready, Changes) && world.own.is_none() {
        return skip(&format!("`{arguments}`: a setting of its own takes root"));
    }
    let before = world.sleeper.as_ref().map(SleepingProgram::slacks);
    let (mut child, mut pipe) = (world.start(arguments), None);
    let mut by_itself = None;
    wait_until(&format!("`howlate {arguments}` where it {ready:?}"), || {
        by_itself = child.try_wait().unwrap();
        by_itself.is_some() || world.is_ready(child.id(), ready, &mut pipe)
    });
    if let Some(status) = by_itself {
        return assert_refused(arguments, status, &world.output());
    }
    send(child.id(), Signal::TERM);
    let status = end_of(&mut child, arguments, ready);
    let describe = || format!("`howlate {arguments}` where it {ready:?}: {status}\n{}", world.output());
    // Before a measurement begins, and while it only reads, the signal itself may end the process.
    let may_die = matches!(ready, Started | Waits | Reads(_));
    let is_obeyed = matches!(status.code(), Some(0 | 3));
    assert!(is_obeyed || (may_die && status.signal() == Some(Signal::TERM.as_raw())), "{}", describe());
    wait_until("an end of all that it had started", || world.mark.processes().is_empty());
    if matches!(ready, Records(_) | Changes) {
        // Watching has no planned end, and is done after the signal.
        let how = if arguments.starts_with("watch") { "done" } else { "interrupted" };
        assert_eq!(show_json(&world.at("out"))["ended"], how, "{}", describe());
    }
    assert!(world.own.as_ref().is_none_or(|own| own.value() == "1"), "a setting is left. {}", describe());
    assert_eq!(world.sleeper.as_ref().map(SleepingProgram::slacks), before, "{}", describe());
    let left: Vec<PathBuf> =
        fs::read_dir(world.at("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty() || may_die, "{left:?} is left. {}", describe());
}

/// A program that ended early must have reported what it lacks.
fn assert_refused(arguments: &str, status: ExitStatus, message: &str) {
    let command = arguments.split(' ').next().unwrap();
    assert!(
        MAY_BE_REFUSED.iter().any(|(refused, with)| *refused == command && status.code() == Some(*with)),
        "`howlate {arguments}` ended by itself: {status}\n{message}"
    );
    skip(&format!("`howlate {arguments}`: {message}"));
}

fn end_of(child: &mut Child, arguments: &str, ready: ReadySign) -> ExitStatus {
    let signalled = clock::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if clock::now().since(signalled) > REACTION_LIMIT {
            drop(child.kill());
            panic!("`howlate {arguments}` where it {ready:?} does not end");
        }
        pause(10);
    }
}

fn end_in_each(stages: &[Stage]) {
    handle_ignored_signals();
    stages.iter().for_each(|stage| end_in(*stage));
}

#[test]
fn what_measures() {
    end_in_each(&MEASURING);
}

#[test]
fn what_changes_settings_or_loads_the_machine() {
    end_in_each(&CHANGING);
}

#[test]
fn what_watches() {
    end_in_each(&WATCHING);
}

/// The start takes long on a busy machine; a signal meanwhile must leave nothing.
#[test]
fn who_is_asked_to_end_before_it_records_has_made_nothing() {
    handle_ignored_signals();
    // It may be ready by the time of the signal.
    let was_loading = (0..5).any(|_| {
        let world = StageWorld::new("record");
        let mut child = world.start("record --out OUT");
        let mut by_itself = None;
        wait_until("programs for the kernel", || {
            by_itself = child.try_wait().unwrap();
            by_itself.is_some() || holds_programs(child.id())
        });
        if let Some(status) = by_itself {
            assert_refused("record", status, &world.output());
            return true;
        }
        send(child.id(), Signal::TERM);
        let status = end_of(&mut child, "record --out OUT", Started);
        let (is_made, message) = (world.at("out").exists(), world.output());
        let is_dead = status.signal() == Some(Signal::TERM.as_raw());
        assert!(is_dead || status.code() == Some(0), "{status}\n{message}");
        assert!(is_made != is_dead && is_made == message.contains("Recording"), "{status}\n{message}");
        is_dead
    });
    assert!(was_loading);
}

/// Whether the process has loaded a BPF program.
fn holds_programs(pid: u32) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|file| file.ends_with("anon_inode:bpf-prog"))
}

#[test]
fn what_reads_results() {
    end_in_each(&READING);
}

#[test]
fn what_goes_on_elsewhere() {
    end_in_each(&ELSEWHERE);
}

#[test]
fn every_command_has_a_row() {
    let rows = [&MEASURING[..], &CHANGING, &WATCHING, &READING, &ELSEWHERE].concat();
    let mut have: BTreeSet<&str> =
        rows.iter().filter_map(|(arguments, _)| arguments.split(' ').next()).collect();
    // And the run without a command.
    assert!(have.remove("-q"));
    assert!(BRIEF.iter().all(|brief| have.insert(brief)), "a command that ends by itself has no stages");
    let listed = commands();
    assert_eq!(have, listed.iter().map(String::as_str).collect());
}
