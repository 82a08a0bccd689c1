//! Programs that ask a recorder beside them for something, or hand it the turns of their loops: in each language, of any user.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{
    built_c, howlate, is_installed, is_root, json, line_of, run, skip, stderr, stdout, sum, wait_until,
};
use crate::record::{Recorder, place};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");
/// Of the examples.
const PERIOD: i64 = 50_000_000;
const REASON: &str = "planned for too long";
/// `nobody`.
const NOBODY: u32 = 65_534;

/// A recorder, where it listens, and what it records into.
struct Listening {
    recorder: Recorder,
    place: PathBuf,
    out: PathBuf,
}

impl Listening {
    fn start(folder: &Path) -> Self {
        // Anybody may go through.
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        let (place, out) = (folder.join("recorder"), folder.join("kept"));
        let recorder = start(&place, &out);
        assert!(place.exists(), "whoever is told that it records may ask it");
        Self { recorder, place, out }
    }

    fn shown(&self) -> Value {
        json(&["show", self.out.to_str().unwrap(), "--json"], 0)
    }
}

fn start(place: &Path, out: &Path) -> Recorder {
    let mut command = howlate(&["record", "--late-above", "1s", "--out", out.to_str().unwrap()]);
    command.env("HOWLATE_RECORDER", place);
    Recorder::begin(command)
}

/// A program of each language, with what it is called.
fn programs(folder: &Path) -> Vec<(Command, &'static str)> {
    let mut all = Vec::new();
    let source = |name: &str| Path::new(SOURCES).join("examples").join(name);
    let program = folder.join("recorded-c");
    if built_c(&source("recorded.c"), &program, &["-O1", "-I", SOURCES]).is_some() {
        all.push((Command::new(program), "recorded-c"));
    }
    all.push((Command::new(rust_example(folder)), "recorded-rust"));
    if is_installed("python3") {
        let mut command = Command::new("python3");
        command.arg(source("recorded.py")).env("PYTHONPATH", format!("{SOURCES}/../python"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        all.push((command, "python3"));
    } else {
        skip("python3 is not installed");
    }
    all
}

fn rust_example(folder: &Path) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--offline", "--package", "howlate-loop", "--example", "recorded"]);
    let built = build.current_dir(SOURCES).arg("--target-dir").arg(target).output().unwrap();
    assert!(built.status.success(), "{}", stderr(&built));
    let program = folder.join("recorded-rust");
    std::fs::copy(target.join("debug/examples/recorded"), &program).unwrap();
    program
}

/// Started beside a recorder at this place, without privileges.
fn begin(mut command: Command, place: &Path) -> Child {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.env_remove("HOWLATE_LOOPS").env("HOWLATE_RECORDER", place);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> (Option<i32>, String, String) {
    let output: Output = child.wait_with_output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

fn of_pid<'a>(all: &'a Value, place: &str, pid: u32) -> Vec<&'a Value> {
    all.as_array().map_or_else(Vec::new, |all| all.iter().filter(|one| one[place]["pid"] == pid).collect())
}

/// The turns that planned for too long; a busy machine may make more turns late.
fn long_turns(shown: &Value, pid: u32) -> Vec<&Value> {
    let is_long = |one: &&Value| one["loop"]["spans"].as_array().is_some_and(|spans| !spans.is_empty());
    of_pid(&shown["incidents"], "thread", pid).into_iter().filter(is_long).collect()
}

#[test]
fn programs_of_each_language_ask_and_a_turn_that_is_not_done_in_time_is_an_incident() {
    let Some((folder, _alone)) = place() else { return };
    let mut listening = Listening::start(folder.path());
    let mut begun = Vec::new();
    for (command, name) in programs(folder.path()) {
        let child = begin(command, &listening.place);
        begun.push((child.id(), name));
        assert_eq!(end(child), (Some(0), "a recorder was asked\n".to_owned(), String::new()), "{name}");
    }
    wait_until("all of it on the disk", || {
        let shown = listening.shown();
        begun.iter().all(|(pid, _)| {
            !of_pid(&shown["snaps"], "program", *pid).is_empty() && !long_turns(&shown, *pid).is_empty()
        })
    });
    assert_eq!(listening.recorder.end(Signal::TERM), Some(0));
    assert!(!listening.place.exists(), "it is removed at the end");
    let shown = listening.shown();
    for (pid, name) in &begun {
        assert_snapped(&listening.out, &of_pid(&shown["snaps"], "program", *pid), name);
        assert_missed(&long_turns(&shown, *pid), &of_pid(&shown["incidents"], "thread", *pid));
    }
    assert_valid(&shown);
    let out = listening.out.to_str().unwrap();
    let text = stdout(&run(&["show", out, "--details"]));
    for (pid, _) in &begun {
        assert!(text.contains(REASON) && text.contains(&format!("({pid})")), "{text}");
    }
    assert!(text.contains(", loop control"), "{text}");
    let why = stdout(&run(&["why", out, "--details"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(why.contains("missed its deadline by") && why.contains("in long plan"), "{why}");
    for format in ["folded", "perfetto"] {
        assert_eq!(run(&["show", out, "--format", format]).status.code(), Some(0), "{format}");
    }
    let page = folder.path().join("page.html");
    assert_eq!(run(&["report", out, "-o", page.to_str().unwrap()]).status.code(), Some(0));
}

fn assert_snapped(out: &Path, snaps: &[&Value], name: &str) {
    let [one] = snaps[..] else { panic!("{snaps:?}") };
    assert_eq!((&one["reason"], &one["program"]["process"]), (&REASON.into(), &name.into()), "{one}");
    if is_root() {
        assert_eq!(one["program"]["uid"], NOBODY, "{one}");
    }
    let file = one["timeline"].as_str().unwrap();
    assert!(file.contains("-snap-planned-for-too-long"), "{file}");
    assert!(!crate::record::stretches(&out.join(file)).is_empty(), "{file}");
}

/// Once, and those after it that it has kept are none of their own, unless their own work was too long as well.
fn assert_missed(incidents: &[&Value], all: &[&Value]) {
    let [one] = incidents[..] else { panic!("once: {incidents:?}") };
    assert_eq!((&one["kind"], &one["loop"]["name"]), (&"loop".into(), &"control".into()), "{one}");
    assert_eq!(one["loop"]["period_ns"], PERIOD, "{one}");
    assert_eq!(one["loop"]["spans"][0]["name"], "long plan", "{one}");
    assert!(one["loop"]["spans"][0]["spent_ns"].as_i64().unwrap() >= 3 * PERIOD, "{one}");
    let latency = one["latency_ns"].as_i64().unwrap();
    assert!(latency >= 2 * PERIOD, "three periods from when it was due, less one: {one}");
    assert_eq!((sum(&one["parts"], "ns"), sum(&one["causes"], "ns")), (latency, latency), "{one}");
    assert_eq!(one["causes"][0]["kind"], "long_work", "{one}");
    let time = |one: &Value, name: &str| one[name].as_i64().unwrap();
    let deadline = |one: &Value| time(one, "at_ns") - time(one, "latency_ns");
    let worked = |one: &Value| time(one["parts"].as_array().unwrap().last().unwrap(), "ns");
    let is_of_it = |other: &&&Value| {
        let range = deadline(one) + 1..time(one, "at_ns");
        other["kind"] == "loop" && range.contains(&deadline(other)) && worked(other) < PERIOD
    };
    assert_eq!(all.iter().filter(is_of_it).collect::<Vec<_>>(), [&&Value::Null; 0]);
}

fn assert_valid(shown: &Value) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/incidents.schema.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(shown).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Nowhere, where nobody is, where nobody listens any more, and what is no socket.
#[test]
fn without_a_recorder_programs_run_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (left, file) = (folder.path().join("left"), folder.path().join("file"));
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    std::fs::write(&file, "").unwrap();
    let nowhere = folder.path().join("a".repeat(200));
    for place in [Path::new(""), &folder.path().join("nobody"), &left, &file, &nowhere] {
        for (command, name) in programs(folder.path()) {
            let ended = end(begin(command, place));
            assert_eq!(ended, (Some(0), "no recorder\n".to_owned(), String::new()), "{name}: {place:?}");
        }
    }
}

/// The loop of a fork is that of another process, and its memory the same. The parent has ended by the time that it is late; the fork
/// stays until it is read, or a minute has passed.
const FORKS: &str = r#"
#include "howlate_span.h"
#include <stdio.h>
static void turn(struct howlate *loop, struct howlate_span *span, int times, int longest) {
    while (times--) {
        struct timespec a_while = { 0, 20000000 };
        uint64_t due = howlate_now(0) + 20000000;
        nanosleep(&a_while, NULL);
        howlate_wake_at(loop, due);
        if (times == longest) {
            howlate_span_begin(span);
            while (howlate_now(0) < due + 300000000) {}
            howlate_span_end(span);
        }
        howlate_done(loop);
    }
}
int main(void) {
    struct howlate loop = howlate_loop("forked", 100000000);
    struct howlate_span span = howlate_span(&loop, "long plan");
    turn(&loop, &span, 3, -1);
    if (fork() == 0) {
        printf("%d\n", getpid());
        fflush(stdout);
        turn(&loop, &span, 40, 10);
        alarm(60);
        pause();
    }
    return 0;
}
"#;

#[test]
fn a_fork_is_read_until_it_ends() {
    let Some((folder, _alone)) = place() else { return };
    let (source, program) = (folder.path().join("p.c"), folder.path().join("forks"));
    std::fs::write(&source, FORKS).unwrap();
    if built_c(&source, &program, &["-O1", "-I", SOURCES]).is_none() {
        return;
    }
    let listening = Listening::start(folder.path());
    let mut parent = begin(Command::new(program), &listening.place);
    let pid = line_of(&mut parent).trim().parse().unwrap();
    assert_eq!(parent.wait().unwrap().code(), Some(0));
    wait_until("the turn of the fork", || !long_turns(&listening.shown(), pid).is_empty());
    let shown = listening.shown();
    let [one] = long_turns(&shown, pid)[..] else { panic!("{shown}") };
    assert_eq!((&one["kind"], &one["loop"]["name"]), (&"loop".into(), &"forked".into()), "{one}");
    crate::common::send(pid, Signal::KILL);
}

fn connected(place: &Path) -> std::os::fd::OwnedFd {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    let _ = connect(&socket, &SocketAddrUnix::new(place).unwrap());
    socket
}

#[test]
fn whoever_asks_for_nonsense_or_for_too_much_keeps_nobody_out() {
    let Some((folder, _alone)) = place() else { return };
    let mut listening = Listening::start(folder.path());
    let _silent: Vec<_> = (0..200).map(|_| connected(&listening.place)).collect();
    for number in 0..50_u8 {
        let text = [number; 300];
        let _ = send(connected(&listening.place), &text, SendFlags::NOSIGNAL);
    }
    let message = [&b"snap1\0\0\0"[..], &[0xff; 24], b"\x1b[31m\xff\"\nnonsense"].concat();
    let asks = || send(connected(&listening.place), &message, SendFlags::NOSIGNAL).is_ok();
    let nonsense = |shown: &Value| shown["snaps"].as_array().is_some_and(|all| !all.is_empty());
    wait_until("what was asked for", || asks() && nonsense(&listening.shown()));
    // Each look keeps one file, and ten of them may be kept at once.
    let files = |shown: &Value| {
        let snaps = shown["snaps"].as_array().unwrap().iter();
        snaps.map(|one| one["timeline"].to_string()).collect::<BTreeSet<_>>().len()
    };
    wait_until("ten files", || asks() && files(&listening.shown()) >= 10);
    (0..20).for_each(|_| {
        asks();
        crate::common::pause(50);
    });
    assert_eq!(listening.recorder.end(Signal::TERM), Some(0));
    let shown = listening.shown();
    assert!(shown["missing"]["snaps_left_out"].as_u64().unwrap() > 0, "{}", shown["missing"]);
    let one = &shown["snaps"][0];
    assert!(one["reason"].as_str().unwrap().ends_with("\u{fffd}\" nonsense"), "{one}");
    assert_eq!(one["program"]["pid"], std::process::id(), "{one}");
    let text = stdout(&run(&["show", listening.out.to_str().unwrap()]));
    assert!(!text.contains('\u{1b}') && text.contains("were too many, and are only counted"), "{text}");
}

#[test]
fn one_recorder_is_asked_and_the_place_of_a_killed_one_is_taken() {
    let Some((folder, _alone)) = place() else { return };
    let mut first = Listening::start(folder.path());
    let other = folder.path().join("other");
    let mut command = howlate(&["record", "--duration", "300ms", "--out", other.to_str().unwrap()]);
    let second = command.env("HOWLATE_RECORDER", &first.place).output().unwrap();
    assert_eq!(second.status.code(), Some(0));
    assert!(stderr(&second).contains("another recorder listens at"), "{}", stderr(&second));
    assert!(first.place.exists(), "it is the first one's");
    assert_eq!(first.recorder.end(Signal::KILL), None);
    assert!(first.place.exists(), "left behind");
    let mut third = start(&first.place, &other);
    let program = folder.path().join("recorded-c");
    let source = Path::new(SOURCES).join("examples/recorded.c");
    if built_c(&source, &program, &["-O1", "-I", SOURCES]).is_some() {
        let ended = end(begin(Command::new(program), &first.place));
        assert_eq!(ended.1, "a recorder was asked\n", "{}", ended.2);
    }
    assert_eq!(third.end(Signal::TERM), Some(0));
    assert!(!first.place.exists());
}
