//! The recorder with lateness that the tests cause themselves: each incident is recorded once and with its cause. No durations of
//! the machine are asserted.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, MutexGuard};
use std::thread;

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{CpuSet, Policy, Priority, Span, WaitClock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::alone;
use crate::common::{ForAnyone, assert_valid, howlate, json, run, skip, stderr, stdout, wait_until};

const LATE: &str = "6ms";
const BUSY: Span = Span::from_millis(20);
const TIMES: u64 = 12;

fn real_time(lowered: u8) -> Policy {
    Policy::Fifo { priority: Priority::USUAL.lowered(u32::from(lowered)) }
}

/// Whether incidents can be recorded and threads can be delayed here; skips the test otherwise.
fn can_record(folder: &Path) -> bool {
    let out = folder.join("tried");
    let output = run(&["record", "--out", out.to_str().unwrap(), "--duration", "50ms"]);
    let message = stderr(&output);
    assert!(!message.contains("cannot be seen here: the kernel refuses to"), "{message}");
    if output.status.code() != Some(0) {
        skip(&message);
        return false;
    }
    if sched::set_policy(sched::THIS_THREAD, real_time(0)).is_err() {
        skip("real-time priority is not allowed");
        return false;
    }
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER).unwrap();
    true
}

/// A folder to record into, and the lock against tests that measure; `None` where nothing can be recorded.
pub(crate) fn place() -> Option<(TempDir, MutexGuard<'static, ()>)> {
    let (alone, folder) = (alone(), tempfile::tempdir().unwrap());
    can_record(folder.path()).then_some((folder, alone))
}

/// Threads that were delayed by a hog; times in nanoseconds of the clock.
pub(crate) struct DelayedVictim {
    pub(crate) victim: u32,
    pub(crate) hog: u32,
    /// Iterations of the hog.
    turns: Vec<HogIteration>,
    /// Due times of the victim's timer.
    due_times: Vec<i64>,
}

struct HogIteration {
    began: i64,
    ended: i64,
    /// Longest gap between two readings of the clock: the hog did not have its CPU then.
    gap: i64,
}

/// One iteration of the hog: reads the clock for `BUSY`.
fn spin() -> HogIteration {
    let began = clock::now();
    let (mut last, mut gap) = (began, Span::ZERO);
    while last.since(began) < BUSY {
        let now = clock::now();
        gap = gap.max(now.since(last));
        last = now;
    }
    HogIteration { began: began.as_nanos(), ended: last.as_nanos(), gap: gap.as_nanos().cast_signed() }
}

/// A process that spins on this CPU at the lowest priority. It gets that only when it spins: with it, a busy machine may never start it.
fn idle_load(cpu: &CpuSet) -> RecorderProcess {
    let mut spins = Command::new("taskset");
    spins.args(["--cpu-list", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
    let spins = RecorderProcess(spins.spawn().unwrap());
    let name = format!("/proc/{}/comm", spins.0.id());
    wait_until("the CPU is kept awake", || std::fs::read_to_string(&name).unwrap() == "sh\n");
    sched::set_policy(spins.0.id(), Policy::Idle).unwrap();
    spins
}

/// A real-time thread takes the CPU from a victim of lower real-time priority that sleeps repeatedly. Real-time timers have no slack,
/// and nothing else delays the victim. The CPU never idles meanwhile: some virtual machines raise no event at the end of an idle state.
pub(crate) fn held_up() -> DelayedVictim {
    let cpu = CpuSet::from_iter(sched::bindable_cpus().unwrap().iter().next());
    let (to_me, ids) = channel();
    let spawn = |name: &str, policy: Policy| {
        let (cpu, to_me, is_hog) = (cpu.clone(), to_me.clone(), name == "hog");
        let begin = move || {
            sched::bind(&cpu).unwrap();
            sched::set_policy(sched::THIS_THREAD, policy).unwrap();
            to_me.send((is_hog, linux_thread::id())).unwrap();
        };
        (thread::Builder::new().name(name.to_owned()), begin)
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let _awake = idle_load(&cpu);
    let ends = Arc::clone(&is_over);
    let (builder, begin) = spawn("victim", real_time(9));
    let victim = builder.spawn(move || {
        begin();
        let mut due_times = Vec::new();
        while !ends.load(Ordering::Relaxed) {
            let until = clock::now().plus(Span::from_millis(1)).as_nanos();
            due_times.push(until);
            drop(clock::sleep_until_on(WaitClock::Monotonic, until));
        }
        due_times
    });
    let (builder, begin) = spawn("hog", real_time(0));
    let hog = builder.spawn(move || {
        begin();
        let turn = |_| {
            drop(clock::sleep_for(Span::from_millis(40)));
            spin()
        };
        (0..TIMES).map(turn).collect()
    });
    let mut both: Vec<(bool, u32)> = ids.iter().take(2).collect();
    both.sort_unstable();
    let turns = hog.unwrap().join().unwrap();
    is_over.store(true, Ordering::Relaxed);
    let due_times = victim.unwrap().join().unwrap();
    DelayedVictim { victim: both[0].1, hog: both[1].1, turns, due_times }
}

/// A recorder that has started, or a load; killed on drop.
pub(crate) struct RecorderProcess(Child);

impl RecorderProcess {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::begin(howlate(arguments))
    }

    pub(crate) fn begin(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut message = String::new();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap());
        while !message.contains("howlate show") {
            assert!(lines.read_line(&mut message).unwrap() > 0, "{message}");
        }
        Self(child)
    }

    /// With the option that records only the victim.
    fn start_choosing(out: &str) -> Self {
        let chosen = ["--process", "vict?m", "--only-policy", "fifo"];
        Self::start(&[&["record", "--late-above", LATE, "--out", out], &chosen[..]].concat())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, and waits for the exit status.
    pub(crate) fn end(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for RecorderProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn start(out: &Path) -> RecorderProcess {
    let whose = ["--process", "victim,causes*"];
    RecorderProcess::start(
        &[&["record", "--late-above", LATE, "--out", out.to_str().unwrap()], &whose[..]].concat(),
    )
}

pub(crate) fn incidents_of(shown: &Value, tid: u32) -> Vec<Value> {
    let all = shown["incidents"].as_array().unwrap();
    all.iter().filter(|incident| incident["thread"]["tid"] == tid).cloned().collect()
}

/// Waits until the last iteration of the hog is recorded.
fn wait_for(folder: &str, made: &DelayedVictim) {
    let last = made.turns.last().unwrap().began;
    wait_until("an incident on the disk", || {
        let shown = json(&["show", folder, "--json"], 0);
        incidents_of(&shown, made.victim).iter().any(|incident| incident["at_ns"].as_i64().unwrap() > last)
    });
}

/// Attempts to delay a thread without interference of the machine.
const ATTEMPTS: usize = 3;

/// Delays a thread until that is recorded. Again where more urgent threads of other tests delayed it as well, where others kept the
/// recorder from reading in time, and where the machine hid an event: one that was stopped may raise none for a timer or a switch
/// afterwards. Only the last attempt counts.
fn held_up_and_recorded(folder: &str) -> Vec<DelayedVictim> {
    let mut all = Vec::new();
    while all.len() < ATTEMPTS {
        let made = held_up();
        wait_for(folder, &made);
        let shown = json(&["show", folder, "--json"], 0);
        let is_disturbed = is_hidden(&shown, &made) || is_disturbed_by_others(&shown, &made);
        all.push(made);
        if !is_disturbed {
            break;
        }
    }
    all
}

/// Whether a wait lacks its timer. Unseen switches are counted later.
fn is_hidden(shown: &Value, made: &DelayedVictim) -> bool {
    let is_of_nobody = |value: &Value| {
        let began = ns_of(value, "at_ns") - ns_of(value, "latency_ns");
        value["kind"] == "woken" && !made.due_times.contains(&began)
    };
    ns_of(&shown["missing"], "switches_unseen") > 0
        && incidents_of(shown, made.victim).iter().any(is_of_nobody)
}

/// Whether another real-time thread had the CPU for a quarter of a wait, or nobody read who had it.
fn is_disturbed_by_others(shown: &Value, made: &DelayedVictim) -> bool {
    // Not by its policy, which is read from `/proc` and unknown for threads that have ended.
    let is_foreign = |part: &&Value| {
        part["kind"] == "unexplained" || (part["real_time"] == true && part["pid"] != made.hog)
    };
    incidents_of(shown, made.victim).iter().any(|incident| {
        let parts = incident["parts"].as_array().unwrap();
        let foreign_ns: i64 = parts.iter().filter(is_foreign).map(ns).sum();
        foreign_ns * 4 > ns_of(incident, "latency_ns")
    })
}

/// Each iteration of the hog is recorded once, with its name and number, from the due time of the victim's timer on; and nothing
/// else is recorded.
fn assert_all_recorded(shown: &Value, made: &DelayedVictim) {
    let all = incidents_of(shown, made.victim);
    let ended = |value: &Value| value["at_ns"].as_i64().unwrap();
    let began = |value: &Value| ended(value) - value["latency_ns"].as_i64().unwrap();
    for turn in &made.turns {
        let during: Vec<&Value> = all
            .iter()
            .filter(|incident| began(incident) < turn.ended && ended(incident) > turn.began)
            .collect();
        let [incident] = during[..] else { panic!("{} to {}: {during:?}", turn.began, turn.ended) };
        assert_names_the_hog(incident, made.hog, turn.gap);
        assert_eq!(incident["thread"]["name"], "victim", "{incident}");
        // Sometimes it wakes just before the hog, which preempts it then.
        assert!(incident["kind"] == "preempted" || made.due_times.contains(&began(incident)), "{incident}");
        let parts: i64 =
            incident["parts"].as_array().unwrap().iter().map(|part| part["ns"].as_i64().unwrap()).sum();
        assert_eq!(parts, incident["latency_ns"].as_i64().unwrap(), "{incident}");
        assert!(ended(incident) - began(incident) >= 6_000_000, "{incident}");
    }
    assert!(all.len() >= made.turns.len(), "{all:?}");
    assert!(all.iter().any(|incident| incident["kind"] == "timer"), "{all:?}");
}

/// The hog is charged with the time that it measured itself. The `gap` in that belongs to the hypervisor, or is unexplained.
fn assert_names_the_hog(incident: &Value, hog: u32, gap: i64) {
    let is_hog = |cause: &&Value| cause["kind"] == "thread" && cause["name"] == "hog" && cause["pid"] == hog;
    let foreign_ns: i64 =
        incident["causes"].as_array().unwrap().iter().filter(|cause| !is_hog(cause)).map(ns).sum();
    let latency = incident["latency_ns"].as_i64().unwrap();
    assert!(
        foreign_ns * 2 < latency || foreign_ns - gap < latency / 4,
        "{foreign_ns} of {latency}, with a gap of {gap}: {incident}"
    );
    // The scheduling tick divides the hog's time into parts.
    let is_its = |part: &&Value| part["name"] == "hog" && part["merged"] != true;
    let parts = incident["parts"].as_array().unwrap().iter().filter(is_its);
    let longest = parts.map(ns).max().unwrap_or(0);
    assert!(longest <= TICK_INTERVAL + gap, "{longest} with a gap of {gap}: {incident}");
}

/// Longest tick interval of a CPU with waiting threads: 10 ms, and 10 % tolerance.
const TICK_INTERVAL: i64 = 11_000_000;

fn ns(part: &Value) -> i64 {
    ns_of(part, "ns")
}

fn ns_of(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap()
}

#[test]
fn whoever_holds_up_others_is_recorded_each_time_and_a_killed_recorder_leaves_it() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let at = out.to_str().unwrap();
    let mut first = start(&out);
    let made = held_up_and_recorded(at).pop().unwrap();
    assert_all_recorded(&json(&["show", at, "--since", "10m", "--json"], 0), &made);
    assert_eq!(first.end(Signal::KILL), None);

    let mut second = start(&out);
    let later = held_up_and_recorded(at).pop().unwrap();
    assert_eq!(second.end(Signal::TERM), Some(0));
    let shown = json(&["show", at, "--since", "10m", "--json"], 0);
    assert_all_recorded(&shown, &made);
    assert_all_recorded(&shown, &later);
    let groups = shown["groups"].as_array().unwrap();
    assert!(groups.iter().any(|group| group["late"].as_u64().unwrap() > 0), "{groups:?}");
    // Threads count for their process, which is this test. Other programs may take more.
    let is_mine = |value: &&Value| value["name"].as_str().is_some_and(|name| name.starts_with("causes"));
    let culprit = &shown["culprits"].as_array().unwrap().iter().find(is_mine).unwrap();
    assert!(culprit["incidents"].as_u64().unwrap() >= 2 * TIMES, "{culprit}");
    assert_valid(&shown, "incidents");

    // Another range of time has no incidents.
    let shown = json(&["show", at, "--between", "2001-01-01,2001-01-02", "--json"], 0);
    assert_eq!(shown["incidents"], Value::Array(vec![]));
    let text = stdout(&run(&["show", at, "--since", "10m", "--group-by", "user"]));
    assert!(text.contains("victim") && text.contains("hog") && text.contains("\n  user"), "{text}");
}

#[test]
fn only_what_is_chosen_is_kept() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let at = out.to_str().unwrap();
    let mut recorder = RecorderProcess::start_choosing(at);
    let made = held_up_and_recorded(at).pop().unwrap();
    assert_eq!(recorder.end(Signal::INT), Some(0));
    let shown = json(&["show", at, "--json"], 0);
    assert_all_recorded(&shown, &made);
    let all = shown["incidents"].as_array().unwrap();
    assert!(all.iter().all(|incident| incident["thread"]["name"] == "victim"), "{all:?}");
}

/// Many threads switch all the time: events in the ring buffers are overwritten before they are read.
#[test]
fn a_flood_of_turns_does_not_hide_who_holds_up_others() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let at = out.to_str().unwrap();
    let _recorder = RecorderProcess::start_choosing(at);
    let mut flood = howlate(&["load", "pipe", "--duration", "1h"]);
    let _flood = RecorderProcess(
        flood.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
    );
    let made = held_up_and_recorded(at).pop().unwrap();
    assert_all_recorded(&json(&["show", at, "--json"], 0), &made);
    // Events overwritten during the reading are not the newest.
    let snap = stdout(&run(&["snap", at]));
    assert!(!slice_names(Path::new(snap.trim())).is_empty(), "{snap}");
}

#[test]
fn a_recorder_whose_folder_is_taken_away_says_so_and_ends() {
    let Some((folder, _alone)) = place() else { return };
    let (out, elsewhere) = (folder.path().join("kept"), folder.path().join("elsewhere"));
    let ways: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
        [|from, to| std::fs::rename(from, to), |from, _| std::fs::remove_dir_all(from)];
    for take_away in ways {
        let mut recorder = start(&out);
        take_away(&out, &elsewhere).unwrap();
        let status = recorder.0.wait().unwrap();
        let mut message = String::new();
        recorder.0.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        assert_eq!(status.code(), Some(3), "{message}");
        assert!(message.contains("was removed or renamed while it was recorded into"), "{message}");
        assert!(!message.contains("To see them"), "{message}");
        assert!(!out.exists());
    }
    let shown = stdout(&run(&["show", elsewhere.to_str().unwrap(), "--since", "1h"]));
    assert!(shown.contains("no recorder is writing now"), "{shown}");
}

#[test]
fn one_recorder_writes_to_a_folder_and_the_second_is_told_which() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let mut first = start(&out);
    let output = run(&["record", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    let process = format!("process {}, since ", first.0.id());
    assert!(message.contains("another recorder writes") && message.contains(&process), "{message}");
    assert_eq!(first.end(Signal::TERM), Some(0));
}

#[test]
fn what_cannot_be_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let (folder_path, link) = (folder.path().join("kept"), folder.path().join("link"));
    symlink(&folder_path, &link).unwrap();
    let (folder_path, link) = (folder_path.to_str().unwrap(), link.to_str().unwrap());
    let cases: &[(&[&str], &str)] = &[
        (&["record", "--late-above", "500"], "has no unit; write `500us`"),
        (&["record", "--out", folder_path, "--max-size", "64K"], "give at least `--max-size 1M`"),
        (
            &["record", "--out", folder_path, "--max-size", "64"],
            "has no unit; write a number with K, M, G or T",
        ),
        (&["record", "--out", folder_path, "--max-age", "30"], "has no unit"),
        (&["record", "--out", folder_path, "--only-policy", "fast"], "is not a policy; write other, fifo"),
        (&["record", "--out", folder_path, "--user", "no such user"], "there is no user `no such user`"),
        (&["record", "--out", folder_path, "--cgroup", "kubepods"], "write it as /proc/PID/cgroup has it"),
        (&["record", "--out", link], "is a link; refusing to follow it"),
        (&["show", "--at", "03:12"], "is a folder of `howlate record`"),
        (&["show", folder.path().to_str().unwrap(), "--at", "03:12"], "is not a folder of `howlate record`"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let message = stderr(&output)
            .replace("nothing is recorded in /var/lib/howlate", "is a folder of `howlate record`");
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert!(!Path::new(folder_path).exists(), "nothing was made");
}

#[test]
fn without_permission_it_says_what_is_missing() {
    let place = ForAnyone::new();
    let output = place.howlate(&["record", "--out", "kept"]).output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    let helps = ["run as root", "CONFIG_DEBUG_INFO_BTF", "--pid=host"];
    assert!(helps.iter().any(|help| message.contains(help)), "{message}");
}

/// The names of all slices in a timeline.
pub(crate) fn slice_names(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let held = events.iter().filter(|event| event["ph"] == "X");
    held.map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_worst_have_a_timeline_and_a_command_is_told_of_each() {
    let Some((folder, _alone)) = place() else { return };
    let (out, command_output) = (folder.path().join("kept"), folder.path().join("told"));
    let at = out.to_str().unwrap();
    let command = format!("cat >> {}", command_output.display());
    let chosen = ["--late-above", LATE, "--process", "victim", "--timelines", "2/h", "--on-late", &command];
    let mut recorder = RecorderProcess::start(&[&["record", "--out", at], &chosen[..]].concat());
    let all_made = held_up_and_recorded(at);
    let made = all_made.last().unwrap();
    let snap = stdout(&run(&["snap", at]));
    assert!(!slice_names(Path::new(snap.trim())).is_empty(), "{snap}");
    assert_eq!(recorder.end(Signal::TERM), Some(0));

    let shown = json(&["show", at, "--json"], 0);
    assert_all_recorded(&shown, made);
    let timelines: Vec<String> = all_made
        .iter()
        .flat_map(|made| incidents_of(&shown, made.victim))
        .filter_map(|incident| incident["timeline"].as_str().map(str::to_owned))
        .collect();
    let files =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut file_names: Vec<String> =
        files.filter(|name| name.ends_with(".trace.json") && !name.contains("snap")).collect();
    file_names.sort();
    assert!(!file_names.is_empty() && file_names.len() <= 2, "{file_names:?}");
    assert!(file_names.iter().all(|name| timelines.contains(name)), "{file_names:?} {timelines:?}");
    for name in &file_names {
        let all = slice_names(&out.join(name));
        let is_there = |made: &DelayedVictim| all.contains(&format!("hog ({})", made.hog));
        assert!(all_made.iter().any(is_there) && all.contains(&"hog".to_owned()), "{all:?}");
    }
    // The command was not run again while it still ran.
    let text = std::fs::read_to_string(command_output).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        !lines.is_empty() && lines.iter().all(|incident| incident["thread"]["name"] == "victim"),
        "{lines:?}"
    );
    assert_eq!(run(&["snap", at]).status.code(), Some(2), "it has ended");
}

#[test]
fn it_stops_where_that_is_asked_for() {
    let Some((folder, _alone)) = place() else { return };
    let at = folder.path().join("kept");
    let at = at.to_str().unwrap();
    let chosen = ["record", "--out", at, "--late-above", LATE, "--process", "victim", "--on-late", "stop"];
    let mut recorder = RecorderProcess::start(&chosen);
    held_up();
    assert_eq!(recorder.0.wait().unwrap().code(), Some(1));
    assert!(!json(&["show", at, "--json"], 0)["incidents"].as_array().unwrap().is_empty());
}
