//! Programs that send requests to a running recorder, or hand it the iterations of their loops: in each language, by any user.

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
    NOBODY, assert_valid, build_c, howlate, is_installed, is_root, json, read_line_of, run, skip, stderr,
    stdout, sum, wait_until,
};
use crate::record::{RecorderProcess, place};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");
/// Loop period of the examples, in ns.
const PERIOD: i64 = 50_000_000;
const REASON: &str = "planned for too long";

/// A recorder with its socket and its folder.
struct SocketRecorder {
    recorder: RecorderProcess,
    place: PathBuf,
    out: PathBuf,
}

impl SocketRecorder {
    fn start(folder: &Path) -> Self {
        // Any user may enter the folder.
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        let (place, out) = (folder.join("recorder"), folder.join("kept"));
        let recorder = start_recorder(&place, &out);
        assert!(place.exists(), "whoever is told that it records may ask it");
        Self { recorder, place, out }
    }

    fn show(&self) -> Value {
        json(&["show", self.out.to_str().unwrap(), "--json"], 0)
    }
}

fn start_recorder(place: &Path, out: &Path) -> RecorderProcess {
    let mut command = howlate(&["record", "--late-above", "1s", "--out", out.to_str().unwrap()]);
    command.env("HOWLATE_RECORDER", place);
    RecorderProcess::begin(command)
}

/// A program of each language, with its name.
fn programs(folder: &Path) -> Vec<(Command, &'static str)> {
    let mut all = Vec::new();
    let source = |name: &str| Path::new(SOURCES).join("examples").join(name);
    let program = folder.join("recorded-c");
    if build_c(&source("recorded.c"), &program, &["-O1", "-I", SOURCES]).is_some() {
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

/// Starts a program for the recorder at `place`, without privileges.
fn spawn_unprivileged(mut command: Command, place: &Path) -> Child {
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

fn of_pid<'a>(incidents: &'a Value, place: &str, pid: u32) -> Vec<&'a Value> {
    incidents.as_array().map_or_else(Vec::new, |incidents| {
        incidents.iter().filter(|incident| incident[place]["pid"] == pid).collect()
    })
}

/// Iterations with a long plan; a busy machine may delay more of them.
fn long_turns(shown: &Value, pid: u32) -> Vec<&Value> {
    let is_long = |value: &&Value| value["loop"]["spans"].as_array().is_some_and(|spans| !spans.is_empty());
    of_pid(&shown["incidents"], "thread", pid).into_iter().filter(is_long).collect()
}

#[test]
fn programs_of_each_language_ask_and_a_turn_that_is_not_done_in_time_is_an_incident() {
    let Some((folder, _alone)) = place() else { return };
    let mut listening = SocketRecorder::start(folder.path());
    let mut started = Vec::new();
    for (command, name) in programs(folder.path()) {
        let child = spawn_unprivileged(command, &listening.place);
        started.push((child.id(), name));
        assert_eq!(end(child), (Some(0), "a recorder was asked\n".to_owned(), String::new()), "{name}");
    }
    wait_until("all of it on the disk", || {
        let shown = listening.show();
        started.iter().all(|(pid, _)| {
            !of_pid(&shown["snaps"], "program", *pid).is_empty() && !long_turns(&shown, *pid).is_empty()
        })
    });
    assert_eq!(listening.recorder.end(Signal::TERM), Some(0));
    assert!(!listening.place.exists(), "it is removed at the end");
    let shown = listening.show();
    for (pid, name) in &started {
        assert_snapped(&listening.out, &of_pid(&shown["snaps"], "program", *pid), name);
        assert_missed(&long_turns(&shown, *pid), &of_pid(&shown["incidents"], "thread", *pid));
    }
    assert_valid(&shown, "incidents");
    let out = listening.out.to_str().unwrap();
    let text = stdout(&run(&["show", out, "--details"]));
    for (pid, _) in &started {
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
    let [snap] = snaps[..] else { panic!("{snaps:?}") };
    assert_eq!((&snap["reason"], &snap["program"]["process"]), (&REASON.into(), &name.into()), "{snap}");
    if is_root() {
        assert_eq!(snap["program"]["uid"], NOBODY, "{snap}");
    }
    let file = snap["timeline"].as_str().unwrap();
    assert!(file.contains("-snap-planned-for-too-long"), "{file}");
    assert!(!crate::record::slice_names(&out.join(file)).is_empty(), "{file}");
}

/// Recorded once; later incidents of the process are due to other delays, unless the work itself was too long again.
fn assert_missed(incidents: &[&Value], all: &[&Value]) {
    let [incident] = incidents[..] else { panic!("once: {incidents:?}") };
    assert_eq!(
        (&incident["kind"], &incident["loop"]["name"]),
        (&"loop".into(), &"control".into()),
        "{incident}"
    );
    assert_eq!(incident["loop"]["period_ns"], PERIOD, "{incident}");
    assert_eq!(incident["loop"]["spans"][0]["name"], "long plan", "{incident}");
    assert!(incident["loop"]["spans"][0]["spent_ns"].as_i64().unwrap() >= 3 * PERIOD, "{incident}");
    let latency = incident["latency_ns"].as_i64().unwrap();
    assert!(latency >= 2 * PERIOD, "three periods from when it was due, less one: {incident}");
    assert_eq!(
        (sum(&incident["parts"], "ns"), sum(&incident["causes"], "ns")),
        (latency, latency),
        "{incident}"
    );
    assert_eq!(incident["causes"][0]["kind"], "long_work", "{incident}");
    let time = |value: &Value, name: &str| value[name].as_i64().unwrap();
    let deadline = |value: &Value| time(value, "at_ns") - time(value, "latency_ns");
    let worked = |value: &Value| time(value["parts"].as_array().unwrap().last().unwrap(), "ns");
    let is_of_it = |other: &&&Value| {
        let range = deadline(incident) + 1..time(incident, "at_ns");
        other["kind"] == "loop" && range.contains(&deadline(other)) && worked(other) < PERIOD
    };
    assert_eq!(all.iter().filter(is_of_it).collect::<Vec<_>>(), [&&Value::Null; 0]);
}

/// No recorder, a folder without a socket, a socket without a listener, and a file that is no socket.
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
            let ended = end(spawn_unprivileged(command, place));
            assert_eq!(ended, (Some(0), "no recorder\n".to_owned(), String::new()), "{name}: {place:?}");
        }
    }
}

/// After a fork the loop belongs to another process, with a copy of the memory. The parent ends before the fork is late; the fork
/// waits until it has been read, or for a minute.
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
    if build_c(&source, &program, &["-O1", "-I", SOURCES]).is_none() {
        return;
    }
    let listening = SocketRecorder::start(folder.path());
    let mut parent = spawn_unprivileged(Command::new(program), &listening.place);
    let pid = read_line_of(&mut parent).trim().parse().unwrap();
    assert_eq!(parent.wait().unwrap().code(), Some(0));
    wait_until("the turn of the fork", || !long_turns(&listening.show(), pid).is_empty());
    let shown = listening.show();
    let [incident] = long_turns(&shown, pid)[..] else { panic!("{shown}") };
    assert_eq!(
        (&incident["kind"], &incident["loop"]["name"]),
        (&"loop".into(), &"forked".into()),
        "{incident}"
    );
    crate::common::send(pid, Signal::KILL);
}

fn connect_to(place: &Path) -> std::os::fd::OwnedFd {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    let _ = connect(&socket, &SocketAddrUnix::new(place).unwrap());
    socket
}

#[test]
fn whoever_asks_for_nonsense_or_for_too_much_keeps_nobody_out() {
    let Some((folder, _alone)) = place() else { return };
    let mut listening = SocketRecorder::start(folder.path());
    let _silent: Vec<_> = (0..200).map(|_| connect_to(&listening.place)).collect();
    for number in 0..50_u8 {
        let text = [number; 300];
        let _ = send(connect_to(&listening.place), &text, SendFlags::NOSIGNAL);
    }
    let message = [&b"snap1\0\0\0"[..], &[0xff; 24], b"\x1b[31m\xff\"\nnonsense"].concat();
    let asks = || send(connect_to(&listening.place), &message, SendFlags::NOSIGNAL).is_ok();
    let nonsense = |shown: &Value| shown["snaps"].as_array().is_some_and(|all| !all.is_empty());
    wait_until("what was asked for", || asks() && nonsense(&listening.show()));
    // Each request writes a timeline; at most ten are written at once.
    let files = |shown: &Value| {
        let snaps = shown["snaps"].as_array().unwrap().iter();
        snaps.map(|snap| snap["timeline"].to_string()).collect::<BTreeSet<_>>().len()
    };
    wait_until("ten files", || asks() && files(&listening.show()) >= 10);
    (0..20).for_each(|_| {
        asks();
        crate::common::pause(50);
    });
    assert_eq!(listening.recorder.end(Signal::TERM), Some(0));
    let shown = listening.show();
    assert!(shown["missing"]["snaps_left_out"].as_u64().unwrap() > 0, "{}", shown["missing"]);
    let snap = &shown["snaps"][0];
    assert!(snap["reason"].as_str().unwrap().ends_with("\u{fffd}\" nonsense"), "{snap}");
    assert_eq!(snap["program"]["pid"], std::process::id(), "{snap}");
    let text = stdout(&run(&["show", listening.out.to_str().unwrap()]));
    assert!(!text.contains('\u{1b}') && text.contains("exceeded the limit: only counted"), "{text}");
}

#[test]
fn one_recorder_is_asked_and_the_place_of_a_killed_one_is_taken() {
    let Some((folder, _alone)) = place() else { return };
    let mut first = SocketRecorder::start(folder.path());
    let other = folder.path().join("other");
    let mut command = howlate(&["record", "--duration", "300ms", "--out", other.to_str().unwrap()]);
    let second = command.env("HOWLATE_RECORDER", &first.place).output().unwrap();
    assert_eq!(second.status.code(), Some(0));
    assert!(stderr(&second).contains("another recorder listens at"), "{}", stderr(&second));
    assert!(first.place.exists(), "it is the first one's");
    assert_eq!(first.recorder.end(Signal::KILL), None);
    assert!(first.place.exists(), "left behind");
    let mut third = start_recorder(&first.place, &other);
    let program = folder.path().join("recorded-c");
    let source = Path::new(SOURCES).join("examples/recorded.c");
    if build_c(&source, &program, &["-O1", "-I", SOURCES]).is_some() {
        let ended = end(spawn_unprivileged(Command::new(program), &first.place));
        assert_eq!(ended.1, "a recorder was asked\n", "{}", ended.2);
    }
    assert_eq!(third.end(Signal::TERM), Some(0));
    assert!(!first.place.exists());
}
