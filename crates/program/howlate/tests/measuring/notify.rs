//! `howlate notify`, with real processes.
//!
//! Nothing here asserts a duration: time limits only keep a test from hanging.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::{howlate, run, skip, stderr, stdout, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Lock: some tests look at objects of the whole machine.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn notify(arguments: &str) -> Command {
    let command_line: Vec<&str> = ["notify"].into_iter().chain(arguments.split_whitespace()).collect();
    howlate(&command_line)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// Caveats about refused mechanisms, printed instead of a failure.
fn refusals(result: &Value) -> Vec<String> {
    let caveats = result["caveats"].as_array().unwrap().iter();
    let left_out = caveats.filter(|caveat| caveat["caveat"] == "left_out");
    left_out.map(|caveat| caveat["text"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn everything_arrives(arguments: &str) {
    let output = notify(&format!(
        "--mechanism all --after 100us --samples 20 --rounds 1 --json --details {arguments}"
    ))
    .output();
    let result = json(&output.unwrap());
    let left_out = refusals(&result);
    left_out.iter().for_each(|reason| skip(reason));
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len() + left_out.len(), 23);
    for result in results {
        let mechanism = &result["condition"]["mechanism"];
        assert_eq!(result["count"], 20, "{mechanism}: {}", result["caveats"]);
        assert_eq!(result["irregular"], Value::Null, "{mechanism}");
        assert!(result["latency_ns"]["min"].as_i64().unwrap() >= 0, "{mechanism}");
        assert!(result["send_ns"]["p50"].as_i64().unwrap() > 0, "{mechanism}");
        assert!(result["in_force"]["tid"] != result["sender_in_force"]["tid"], "{mechanism}");
    }
}

#[test]
fn every_mechanism_wakes_a_process() {
    let _alone = alone();
    everything_arrives("");
}

#[test]
fn every_mechanism_makes_a_round_trip_between_processes() {
    let _alone = alone();
    everything_arrives("--round-trip --receiver held_awake");
}

#[test]
fn every_mechanism_wakes_a_thread() {
    let _alone = alone();
    everything_arrives("--peers threads");
}

fn allowed_cpus() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

#[test]
fn one_cpu_runs_what_it_can_and_says_what_it_cannot() {
    let _alone = alone();
    let cpu = allowed_cpus()[0];
    let output = std::thread::spawn(move || {
        let mut cpu_set = rustix::thread::CpuSet::new();
        cpu_set.set(cpu);
        // Inherited by the program.
        rustix::thread::sched_setaffinity(None, &cpu_set).unwrap();
        notify("--mechanism pipe,busy_wait --after 50us --samples 12 --json").output().unwrap()
    });
    let result = json(&output.join().unwrap());
    let left_out = refusals(&result).join("\n");
    assert!(left_out.contains(&format!("was started on CPU {cpu} only")), "{left_out}");
    assert!(left_out.contains("busy_wait on one CPU: the receiver would spin"), "{left_out}");
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["condition"]["placement"], "same_cpu");
    assert_eq!(results[0]["count"], 12);
}

#[test]
fn what_the_kernel_refuses_is_left_out_and_the_rest_runs() {
    // A limit of 0 bytes for message queues: mq_open(3) fails.
    let options = ["notify", "--mechanism", "posix_mq,pipe", "--after", "50us", "--samples", "12", "--json"];
    let howlate = howlate(&options);
    let limited = Command::new("prlimit")
        .arg("--msgqueue=0")
        .arg(howlate.get_program())
        .args(howlate.get_args())
        .output();
    let Ok(output) = limited else {
        return skip("prlimit(1) is not installed");
    };
    let result = json(&output);
    let left_out = refusals(&result).join("\n");
    assert!(left_out.contains("posix_mq: the kernel or the container refuses it"), "{left_out}");
    assert_eq!(result["results"].as_array().unwrap().len(), 1);
    assert_eq!(result["results"][0]["count"], 12);
}

#[test]
fn spinning_where_the_sender_must_run_is_refused() {
    let cpu = allowed_cpus()[0];
    for policy in ["other", "fifo:80"] {
        let options = format!("--by busy_wait --pair {cpu},{cpu} --policy {policy}");
        let output = notify(&options).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("would spin on CPU"), "{}", stderr(&output));
    }
}

#[test]
fn wrong_requests_say_what_to_type() {
    for (options, says) in [
        ("--by pigeon", "choose from all, futex"),
        ("--pair 0", "such as `0,1`"),
        ("--pair 0,5000", "CPU 5000 cannot be used"),
        ("--samples 0", "write at least 1"),
        ("--after 100", "100us"),
    ] {
        let output = notify(options).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(stderr(&output).contains(says), "{options}: {}", stderr(&output));
    }
}

#[test]
fn a_recording_can_be_shown_in_every_form() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify.jsonl");
    let options = format!("--by futex,pipe --after 10us,200us --samples 60 --out {}", path.display());
    let printed = stdout(&notify(&options).output().unwrap());
    let show = |format: &str| {
        let output = run(&["show", "--format", format, path.to_str().unwrap()]);
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(show("text"), printed);
    assert!(
        printed.contains("Slower than the fastest blocking mechanism") && printed.contains("What this means")
    );
    let twice = "--mechanism pipe,futex --after 10us --peers processes,threads --samples 60 --no-save";
    let twice = stdout(&notify(twice).output().unwrap());
    let (tables, means) = twice.split_once("What this means").unwrap();
    assert!(
        tables.matches("samples").count() == 2 && !means.contains("samples"),
        "after all tables: {twice}"
    );
    assert!(means.contains("processes: ") && means.contains("threads: "), "{means}");
    let csv = show("csv");
    assert!(csv.lines().next().unwrap().contains("messages_lost,messages_duplicated,messages_reordered"));
    assert_eq!(csv.lines().count(), 5);
    let document: Value = serde_json::from_str(&show("json")).unwrap();
    assert_eq!(document["results"].as_array().unwrap().len(), 4);
    assert_eq!(document["rankings"].as_array().unwrap().len(), 2);
    assert_eq!(show("hlog").lines().filter(|line| line.starts_with("Tag=")).count(), 4);
    assert_eq!(show("intervals").lines().count(), 1 + 4 * 60);
}

/// A running measurement whose processes have a variable in their environment.
struct RunningNotify {
    program: Child,
    mark: String,
}

impl RunningNotify {
    fn start(name: &str, arguments: &str) -> Self {
        let mark = format!("{name}-{}", std::process::id());
        let program = notify(arguments)
            .env("HOWLATE_TEST_MARK", &mark)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { program, mark }
    }

    /// Its processes with the first argument `role`.
    fn processes(&self, role: &str) -> Vec<i32> {
        let marked = |pid: &i32| {
            let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let has =
                |text: &[u8], what: &str| text.split(|byte| *byte == 0).any(|part| part == what.as_bytes());
            has(&read("environ"), &format!("HOWLATE_TEST_MARK={}", self.mark)) && has(&read("cmdline"), role)
        };
        let names = fs::read_dir("/proc").unwrap().flatten();
        names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(marked).collect()
    }

    fn signal(&self, pid: i32, signal: Signal) {
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.program.id()).unwrap()
    }
}

/// Objects that outlive a process unless they are removed.
fn leftovers() -> Vec<String> {
    let mut all = Vec::new();
    for file in ["sem", "msg", "shm"] {
        let table = fs::read_to_string(format!("/proc/sysvipc/{file}")).unwrap_or_default();
        let ids = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        all.extend(ids.map(|id| format!("{file} {id}")));
    }
    for folder in [PathBuf::from("/dev/shm"), "/dev/mqueue".into(), std::env::temp_dir()] {
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        all.extend(
            names.filter(|name| name.contains("howlate-")).map(|name| format!("{}/{name}", folder.display())),
        );
    }
    all
}

#[test]
fn a_dead_receiver_is_an_error_that_names_the_mechanism() {
    let _alone = alone();
    for mechanism in ["pipe", "futex", "busy_wait"] {
        if mechanism == "busy_wait" && allowed_cpus().len() < 2 {
            skip("busy_wait needs two CPUs");
            continue;
        }
        let options = format!("--by {mechanism} --after 10ms --samples 100000 --rounds 1 --json");
        let running = RunningNotify::start(mechanism, &options);
        wait_until("a receiver", || !running.processes("__receiver").is_empty());
        let receiver = running.processes("__receiver")[0];
        running.signal(receiver, Signal::KILL);
        let output = running.program.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let result = json(&output);
        let caveats = result["results"][0]["caveats"].to_string();
        assert!(caveats.contains(&format!("{mechanism}: the receiver died")), "{caveats}");
    }
}

const LASTING: [&str; 4] = ["sysv_sem", "sysv_mq", "posix_mq", "semaphore"];

#[test]
fn sigkill_leaves_nothing_behind() {
    let _alone = alone();
    let before = leftovers();
    for mechanism in LASTING {
        let options = format!("--by {mechanism} --after 10ms --samples 100000 --rounds 1 --round-trip");
        let mut running = RunningNotify::start(mechanism, &options);
        wait_until("a receiver", || !running.processes("__receiver").is_empty());
        running.signal(running.pid(), Signal::KILL);
        running.program.wait().unwrap();
        wait_until("the end of all processes", || running.processes("notify").is_empty());
        for role in ["__receiver", "__janitor"] {
            wait_until("the end of helpers", || running.processes(role).is_empty());
        }
        wait_until("nothing left behind", || leftovers() == before);
    }
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_nothing_behind() {
    let _alone = alone();
    let before = leftovers();
    for mechanism in LASTING {
        let options = format!("--by {mechanism} --after 1ms --samples 100000 --rounds 1 --json");
        let running = RunningNotify::start(mechanism, &options);
        wait_until("a receiver", || !running.processes("__receiver").is_empty());
        running.signal(running.pid(), Signal::INT);
        let (pid, mark) = (running.pid(), running.mark.clone());
        let output = running.program.wait_with_output().unwrap();
        let result = json(&output);
        assert_eq!(result["ended"], "interrupted");
        assert_eq!(result["results"][0]["irregular"], Value::Null);
        assert_eq!(leftovers(), before, "{mechanism} {pid} {mark}");
    }
}
