//! What a recorder keeps of lateness that is made on purpose: each time once, with who it was. No test here asserts a duration of
//! the machine's making.

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
use crate::common::{ForAnyone, howlate, json, run, skip, stderr, stdout, wait_until};

const LATE: &str = "6ms";
const BUSY: Span = Span::from_millis(20);
const TIMES: u64 = 12;

fn real_time(lowered: u8) -> Policy {
    Policy::Fifo { priority: Priority::USUAL.lowered(u32::from(lowered)) }
}

/// Whether the recorder can see anything here, and time can be taken from others; says why not.
fn can_record(folder: &Path) -> bool {
    let out = folder.join("tried");
    let output = run(&["record", "--out", out.to_str().unwrap(), "--duration", "50ms"]);
    let said = stderr(&output);
    assert!(!said.contains("cannot be seen here: the kernel refuses to"), "{said}");
    if output.status.code() != Some(0) {
        skip(&said);
        return false;
    }
    if sched::set_policy(sched::THIS_THREAD, real_time(0)).is_err() {
        skip("real-time priority is not allowed");
        return false;
    }
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER).unwrap();
    true
}

/// A folder to record into, where nothing else is measured meanwhile; `None` where nothing can be recorded.
pub(crate) fn place() -> Option<(TempDir, MutexGuard<'static, ()>)> {
    let (alone, folder) = (alone(), tempfile::tempdir().unwrap());
    can_record(folder.path()).then_some((folder, alone))
}

/// What was made: times of the clock, in nanoseconds.
pub(crate) struct HeldUp {
    pub(crate) victim: u32,
    pub(crate) hog: u32,
    /// Turns of the hog.
    turns: Vec<Turn>,
    /// Each time at which the victim was to wake.
    asked: Vec<i64>,
}

struct Turn {
    began: i64,
    ended: i64,
    /// The longest that its clock went on between two looks at it: there, it did not have its CPU.
    gap: i64,
}

/// A turn of the hog: it does nothing but look at the clock.
fn take_the_cpu() -> Turn {
    let began = clock::now();
    let (mut last, mut gap) = (began, Span::ZERO);
    while last.since(began) < BUSY {
        let now = clock::now();
        gap = gap.max(now.since(last));
        last = now;
    }
    Turn { began: began.as_nanos(), ended: last.as_nanos(), gap: gap.as_nanos().cast_signed() }
}

/// Somebody else's process that spins on this CPU when nobody else wants it.
fn kept_awake(cpu: &CpuSet) -> Recorder {
    let mut spins = Command::new("chrt");
    spins.args(["--idle", "0", "taskset", "--cpu-list", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
    let spins = Recorder(spins.spawn().unwrap());
    let name = format!("/proc/{}/comm", spins.0.id());
    wait_until("the CPU is kept awake", || std::fs::read_to_string(&name).unwrap() == "sh\n");
    spins
}

/// A real-time thread takes the CPU of a less urgent one, which sleeps a while again and again. That one is urgent too: nobody else
/// keeps it waiting, and its timers have no slack. Their CPU never idles meanwhile: some virtual machines raise no event for what ends
/// an idle CPU's rest.
pub(crate) fn held_up() -> HeldUp {
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
    let _awake = kept_awake(&cpu);
    let ends = Arc::clone(&is_over);
    let (builder, begin) = spawn("victim", real_time(9));
    let victim = builder.spawn(move || {
        begin();
        let mut asked = Vec::new();
        while !ends.load(Ordering::Relaxed) {
            let until = clock::now().plus(Span::from_millis(1)).as_nanos();
            asked.push(until);
            drop(clock::sleep_until_on(WaitClock::Monotonic, until));
        }
        asked
    });
    let (builder, begin) = spawn("hog", real_time(0));
    let hog = builder.spawn(move || {
        begin();
        let turn = |_| {
            drop(clock::sleep_for(Span::from_millis(40)));
            take_the_cpu()
        };
        (0..TIMES).map(turn).collect()
    });
    let mut both: Vec<(bool, u32)> = ids.iter().take(2).collect();
    both.sort_unstable();
    let turns = hog.unwrap().join().unwrap();
    is_over.store(true, Ordering::Relaxed);
    let asked = victim.unwrap().join().unwrap();
    HeldUp { victim: both[0].1, hog: both[1].1, turns, asked }
}

/// A recorder that misses nothing any more, or a load; ends with the test.
pub(crate) struct Recorder(Child);

impl Recorder {
    fn start(arguments: &[&str]) -> Self {
        Self::begin(howlate(arguments))
    }

    pub(crate) fn begin(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.as_mut().unwrap());
        while !said.contains("howlate show") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "{said}");
        }
        Self(child)
    }

    /// Of the victim only.
    fn start_choosing(out: &str) -> Self {
        let chosen = ["--process", "vict?m", "--policy", "fifo"];
        Self::start(&[&["record", "--late-above", LATE, "--out", out], &chosen[..]].concat())
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, and waits for the end: the exit status.
    pub(crate) fn end(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn start(out: &Path) -> Recorder {
    let whose = ["--process", "victim,causes*"];
    Recorder::start(&[&["record", "--late-above", LATE, "--out", out.to_str().unwrap()], &whose[..]].concat())
}

fn incidents_of(shown: &Value, tid: u32) -> Vec<Value> {
    let all = shown["incidents"].as_array().unwrap();
    all.iter().filter(|one| one["thread"]["tid"] == tid).cloned().collect()
}

/// Waits until the last turn of the hog is on the disk.
fn wait_for(folder: &str, made: &HeldUp) {
    let last = made.turns.last().unwrap().began;
    wait_until("an incident on the disk", || {
        let shown = json(&["show", folder, "--json"], 0);
        incidents_of(&shown, made.victim).iter().any(|one| one["at_ns"].as_i64().unwrap() > last)
    });
}

/// How often it is tried to hold somebody up on a machine that is not stopped meanwhile.
const TRIES: usize = 3;

/// Holds somebody up until that is on the disk. Again where others, more urgent than the hog, held them up as well, as other tests do;
/// and where the machine hid something: one that was stopped may raise no event for a timer
/// when it goes on, as it then raises none for switches. The last of what was made is whole, or none is.
fn held_up_and_told(folder: &str) -> Vec<HeldUp> {
    let mut all = Vec::new();
    while all.len() < TRIES {
        let made = held_up();
        wait_for(folder, &made);
        let shown = json(&["show", folder, "--json"], 0);
        let is_disturbed = is_hidden(&shown, &made) || is_held_up_by_others(&shown, &made);
        all.push(made);
        if !is_disturbed {
            break;
        }
    }
    all
}

/// Whether it is not known of a wait that a timer ended it. How many switches were unseen is on the disk later only.
fn is_hidden(shown: &Value, made: &HeldUp) -> bool {
    let is_of_nobody = |one: &Value| {
        let began = ns_of(one, "at_ns") - ns_of(one, "latency_ns");
        one["kind"] == "woken" && !made.asked.contains(&began)
    };
    ns_of(&shown["missing"], "switches_unseen") > 0
        && incidents_of(shown, made.victim).iter().any(is_of_nobody)
}

/// Whether another real-time thread had the CPU for a quarter of a wait.
fn is_held_up_by_others(shown: &Value, made: &HeldUp) -> bool {
    let is_urgent = |cause: &Value| {
        cause["kind"] == "thread"
            && cause["pid"] != made.hog
            && ["fifo", "rr", "deadline"].iter().any(|policy| cause["policy"]["policy"] == *policy)
    };
    incidents_of(shown, made.victim).iter().any(|one| {
        let causes = one["causes"].as_array().unwrap();
        let theirs: i64 = causes.iter().filter(|cause| is_urgent(cause)).map(ns).sum();
        theirs * 4 > ns_of(one, "latency_ns")
    })
}

/// Each turn of the hog is there once, by its name and number, and since the time for which the victim had set its timer; and
/// nothing that did not happen.
fn assert_each_is_there(shown: &Value, made: &HeldUp) {
    let all = incidents_of(shown, made.victim);
    let ended = |one: &Value| one["at_ns"].as_i64().unwrap();
    let began = |one: &Value| ended(one) - one["latency_ns"].as_i64().unwrap();
    for turn in &made.turns {
        let during: Vec<&Value> =
            all.iter().filter(|one| began(one) < turn.ended && ended(one) > turn.began).collect();
        let [one] = during[..] else { panic!("{} to {}: {during:?}", turn.began, turn.ended) };
        assert_names_the_hog(one, made.hog, turn.gap);
        assert_eq!(one["thread"]["name"], "victim", "{one}");
        // Now and then it is woken just before the hog, which then takes its CPU from it.
        assert!(one["kind"] == "preempted" || made.asked.contains(&began(one)), "{one}");
        let parts: i64 =
            one["parts"].as_array().unwrap().iter().map(|part| part["ns"].as_i64().unwrap()).sum();
        assert_eq!(parts, one["latency_ns"].as_i64().unwrap(), "{one}");
        assert!(ended(one) - began(one) >= 6_000_000, "{one}");
    }
    assert!(all.len() >= made.turns.len(), "{all:?}");
    assert!(all.iter().any(|one| one["kind"] == "timer"), "{all:?}");
}

/// It had the CPU for as long as it knows of itself; of the `gap` in that, nobody knows, or the hypervisor had it.
fn assert_names_the_hog(one: &Value, hog: u32, gap: i64) {
    let is_hog = |cause: &&Value| cause["kind"] == "thread" && cause["name"] == "hog" && cause["pid"] == hog;
    let others: i64 = one["causes"].as_array().unwrap().iter().filter(|cause| !is_hog(cause)).map(ns).sum();
    let all = one["latency_ns"].as_i64().unwrap();
    assert!(others * 2 < all || others - gap < all / 4, "{others} of {all}, with a gap of {gap}: {one}");
    // Ticks part what it had, however short they are.
    let is_its = |part: &&Value| part["name"] == "hog" && part["merged"] != true;
    let parts = one["parts"].as_array().unwrap().iter().filter(is_its);
    let longest = parts.map(ns).max().unwrap_or(0);
    assert!(longest <= TICKS + gap, "{longest} with a gap of {gap}: {one}");
}

/// A CPU on which threads wait takes a tick at least so often: 10 ms, and a tenth for its way.
const TICKS: i64 = 11_000_000;

fn ns(of: &Value) -> i64 {
    ns_of(of, "ns")
}

fn ns_of(of: &Value, key: &str) -> i64 {
    of[key].as_i64().unwrap()
}

#[test]
fn whoever_holds_up_others_is_recorded_each_time_and_a_killed_recorder_leaves_it() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let at = out.to_str().unwrap();
    let mut first = start(&out);
    let made = held_up_and_told(at).pop().unwrap();
    assert_each_is_there(&json(&["show", at, "--since", "10m", "--json"], 0), &made);
    assert_eq!(first.end(Signal::KILL), None);

    let mut second = start(&out);
    let later = held_up_and_told(at).pop().unwrap();
    assert_eq!(second.end(Signal::TERM), Some(0));
    let shown = json(&["show", at, "--since", "10m", "--json"], 0);
    assert_each_is_there(&shown, &made);
    assert_each_is_there(&shown, &later);
    let groups = shown["groups"].as_array().unwrap();
    assert!(groups.iter().any(|group| group["late"].as_u64().unwrap() > 0), "{groups:?}");
    // A thread counts for its process, which is this test. Others may take more.
    let is_mine = |one: &&Value| one["name"].as_str().is_some_and(|name| name.starts_with("causes"));
    let culprit = &shown["culprits"].as_array().unwrap().iter().find(is_mine).unwrap();
    assert!(culprit["incidents"].as_u64().unwrap() >= 2 * TIMES, "{culprit}");
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert_eq!(validator.iter_errors(&shown).map(|error| error.to_string()).collect::<Vec<_>>(), [""; 0]);

    // Asked for another time, it knows nothing.
    let shown = json(&["show", at, "--between", "2001-01-01,2001-01-02", "--json"], 0);
    assert_eq!(shown["incidents"], Value::Array(vec![]));
    let text = stdout(&run(&["show", at, "--since", "10m", "--group", "user"]));
    assert!(text.contains("victim") && text.contains("hog") && text.contains("\n  user"), "{text}");
}

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/incidents.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn only_what_is_chosen_is_kept() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let at = out.to_str().unwrap();
    let mut recorder = Recorder::start_choosing(at);
    let made = held_up_and_told(at).pop().unwrap();
    assert_eq!(recorder.end(Signal::INT), Some(0));
    let shown = json(&["show", at, "--json"], 0);
    assert_each_is_there(&shown, &made);
    let all = shown["incidents"].as_array().unwrap();
    assert!(all.iter().all(|one| one["thread"]["name"] == "victim"), "{all:?}");
}

/// However often others pass the CPUs to each other: what the rings remember is written over before they are read.
#[test]
fn a_flood_of_turns_does_not_hide_who_holds_up_others() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let at = out.to_str().unwrap();
    let _recorder = Recorder::start_choosing(at);
    let mut flood = howlate(&["load", "pipe", "--duration", "1h"]);
    let _flood =
        Recorder(flood.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let made = held_up_and_told(at).pop().unwrap();
    assert_each_is_there(&json(&["show", at, "--json"], 0), &made);
    // What is written over while the rings are read is not the newest.
    let snap = stdout(&run(&["snap", at]));
    assert!(!stretches(Path::new(snap.trim())).is_empty(), "{snap}");
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
        let mut said = String::new();
        recorder.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(status.code(), Some(3), "{said}");
        assert!(said.contains("was removed or renamed while it was recorded into"), "{said}");
        assert!(!said.contains("To see them"), "{said}");
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
    let said = stderr(&output);
    let process = format!("process {}, since ", first.0.id());
    assert!(said.contains("another recorder writes") && said.contains(&process), "{said}");
    assert_eq!(first.end(Signal::TERM), Some(0));
}

#[test]
fn what_cannot_be_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, link) = (folder.path().join("kept"), folder.path().join("link"));
    symlink(&kept, &link).unwrap();
    let (kept, link) = (kept.to_str().unwrap(), link.to_str().unwrap());
    let cases: &[(&[&str], &str)] = &[
        (&["record", "--late-above", "500"], "has no unit; write `500us`"),
        (&["record", "--out", kept, "--max-size", "64K"], "give at least `--max-size 1M`"),
        (&["record", "--out", kept, "--max-size", "64"], "has no unit; write a number with K, M, G or T"),
        (&["record", "--out", kept, "--max-age", "30"], "has no unit"),
        (&["record", "--out", kept, "--policy", "fast"], "is not a policy; write other, fifo"),
        (&["record", "--out", kept, "--user", "no such user"], "there is no user `no such user`"),
        (&["record", "--out", kept, "--cgroup", "kubepods"], "write it as /proc/PID/cgroup has it"),
        (&["record", "--out", link], "is a link; refusing to follow it"),
        (&["show", "--at", "03:12"], "is a folder of `howlate record`"),
        (&["show", folder.path().to_str().unwrap(), "--at", "03:12"], "is not a folder of `howlate record`"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let said = stderr(&output)
            .replace("nothing is recorded in /var/lib/howlate", "is a folder of `howlate record`");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert!(!Path::new(kept).exists(), "nothing was made");
}

#[test]
fn without_permission_it_says_what_is_missing() {
    let place = ForAnyone::new();
    let output = place.howlate(&["record", "--out", "kept"]).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let helps = ["run as root", "CONFIG_DEBUG_INFO_BTF", "--pid=host"];
    assert!(helps.iter().any(|help| said.contains(help)), "{said}");
}

/// The names of all stretches in a timeline.
pub(crate) fn stretches(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let held = events.iter().filter(|event| event["ph"] == "X");
    held.map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_worst_have_a_timeline_and_a_command_is_told_of_each() {
    let Some((folder, _alone)) = place() else { return };
    let (out, told) = (folder.path().join("kept"), folder.path().join("told"));
    let at = out.to_str().unwrap();
    let command = format!("cat >> {0}; echo >> {0}", told.display());
    let chosen = ["--late-above", LATE, "--process", "victim", "--at-most", "2/h", "--on-late", &command];
    let mut recorder = Recorder::start(&[&["record", "--out", at], &chosen[..]].concat());
    let all_made = held_up_and_told(at);
    let made = all_made.last().unwrap();
    let snap = stdout(&run(&["snap", at]));
    assert!(!stretches(Path::new(snap.trim())).is_empty(), "{snap}");
    assert_eq!(recorder.end(Signal::TERM), Some(0));

    let shown = json(&["show", at, "--json"], 0);
    assert_each_is_there(&shown, made);
    let timelines: Vec<String> = all_made
        .iter()
        .flat_map(|made| incidents_of(&shown, made.victim))
        .filter_map(|one| one["timeline"].as_str().map(str::to_owned))
        .collect();
    let files =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut kept: Vec<String> =
        files.filter(|name| name.ends_with(".trace.json") && !name.contains("snap")).collect();
    kept.sort();
    assert!(!kept.is_empty() && kept.len() <= 2, "{kept:?}");
    assert!(kept.iter().all(|name| timelines.contains(name)), "{kept:?} {timelines:?}");
    for name in &kept {
        let all = stretches(&out.join(name));
        let is_there = |made: &HeldUp| all.contains(&format!("hog ({})", made.hog));
        assert!(all_made.iter().any(is_there) && all.contains(&"hog".to_owned()), "{all:?}");
    }
    // A command that still ran was not run again.
    let told = std::fs::read_to_string(told).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!told.is_empty() && told.iter().all(|one| one["thread"]["name"] == "victim"), "{told:?}");
    assert_eq!(run(&["snap", at]).status.code(), Some(2), "it has ended");
}

#[test]
fn it_stops_where_that_is_asked_for() {
    let Some((folder, _alone)) = place() else { return };
    let at = folder.path().join("kept");
    let at = at.to_str().unwrap();
    let chosen = ["record", "--out", at, "--late-above", LATE, "--process", "victim", "--on-late", "stop"];
    let mut recorder = Recorder::start(&chosen);
    held_up();
    assert_eq!(recorder.0.wait().unwrap().code(), Some(1));
    assert!(!json(&["show", at, "--json"], 0)["incidents"].as_array().unwrap().is_empty());
}
