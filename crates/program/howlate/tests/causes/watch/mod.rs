//! Unmodified programs on the real machine. No durations of the machine are asserted.

mod crowds;
mod event_loops;
mod lives;
mod runtimes;
mod screens;
mod waits;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{howlate, is_installed, json, run, skip, stderr, stdout};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

const SLEEPER: &str = "import time\nwhile True: time.sleep(0.005)";

/// Whether bpf and Python are available; skips the test otherwise.
fn has_bpf_and_python() -> bool {
    if !is_installed("python3") {
        skip("python3 is not installed");
        return false;
    }
    crate::common::has_bpf()
}

/// The path of the Python executable itself, without wrapper scripts.
fn python() -> String {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    stdout(&output).trim().to_owned()
}

/// The result of the thread with most wake-ups by timer.
fn by_timer(document: &Value) -> &Value {
    let results = document["results"].as_array().unwrap();
    let timers = results.iter().filter(|result| result["condition"]["mechanism"] == "timer");
    timers.max_by_key(|result| result["count"].as_u64()).unwrap_or_else(|| panic!("{document}"))
}

#[test]
fn a_python_loop_has_a_period_and_its_lateness_parts() {
    if !has_bpf_and_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.jsonl");
    let out = path.to_str().unwrap();
    let python = python();
    let options = [
        "watch",
        "--anonymous",
        "--duration",
        "2s",
        "--json",
        "--quiet",
        "--out",
        out,
        "--",
        &python,
        "-c",
        SLEEPER,
    ];
    let document = json(&options, 0);
    let recorded = std::fs::read_to_string(out).unwrap();
    let header: Value = serde_json::from_str(recorded.lines().next().unwrap()).unwrap();
    assert!(header["header"]["node"]["name"].is_null(), "{header}");
    let result = by_timer(&document);
    assert_eq!(result["condition"]["kind"], "watch");
    assert!(result["condition"]["name"].as_str().unwrap().starts_with("python"), "{result}");
    assert!(result["count"].as_u64().unwrap() >= 20, "{result}");
    let rhythm = &result["rhythm"];
    assert!(
        rhythm["steps_ns"]["min"].as_i64().unwrap() >= 5_000_000,
        "no sleep is shorter than asked: {rhythm}"
    );
    let why = &result["why"];
    assert_eq!(why["decomposed"], result["count"], "every one is split");
    for worst in why["worst"].as_array().unwrap() {
        assert_eq!(crate::common::sum(&worst["parts"], "ns"), worst["latency_ns"].as_i64().unwrap());
    }
    assert_eq!(result["latency_ns"]["max"], why["worst"][0]["latency_ns"]);
    let shown = run(&["show", out, "--json"]);
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    assert_eq!(shown["results"], document["results"], "a recording says the same");
    let text = stdout(&run(&["show", out]));
    assert!(text.contains("timer") && text.contains("Causes of the slowest 1 %"), "{text}");
    let text = stdout(&run(&["show", "--details", out]));
    assert!(text.contains("Tracer bpf"), "{text}");
    let page = folder.path().join("w.html");
    let report = run(&["report", out, "--output", page.to_str().unwrap()]);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
    assert!(std::fs::read_to_string(page).unwrap().contains("How late the threads of a program run"));
    let compared = run(&["compare", out, out]);
    assert!(matches!(compared.status.code(), Some(0 | 3)), "{}", stderr(&compared));
}

/// Repeatedly takes CPU 0 from all other threads.
fn hog() -> Child {
    let hog = "cmd:taskset -c 0 chrt -f 20 sh -c 'while :; do i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; sleep 0.009; done'";
    let mut command = howlate(&["load", hog]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn who_competes_for_its_cpu_is_named() {
    if !has_bpf_and_python() || !crate::common::may_use_realtime() {
        return;
    }
    let mut hog = hog();
    let python = python();
    // Starting takes long on a busy CPU.
    let sleeper = "import time\nfor turn in range(400): time.sleep(0.005)";
    let options = ["watch", "--json", "--quiet", "--", "taskset", "-c", "0", &python, "-c", sleeper];
    let document = json(&options, 0);
    hog.kill().unwrap();
    hog.wait().unwrap();
    let causes = by_timer(&document)["why"]["causes"].as_array().unwrap().clone();
    let named = causes.iter().find(|cause| cause["kind"] == "thread" && cause["name"] == "sh");
    assert!(named.is_some_and(|cause| cause["late_ns"].as_u64().unwrap() > 0), "{causes:?}");
}

/// Compiles a C program; `None` without a compiler.
fn compile(folder: &Path, source: &str) -> Option<PathBuf> {
    let (text, program) = (folder.join("p.c"), folder.join("rhythmic"));
    std::fs::write(&text, source).unwrap();
    crate::common::build_c(&text, &program, &["-O1"]).map(|()| program)
}

/// A loop with a period of 2 ms by timerfd; one iteration in twenty works for seven periods.
const RHYTHMIC: &str = r#"
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
int main(void) {
    struct itimerspec every = { { 0, 2000000 }, { 0, 2000000 } };
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &every, 0);
    for (int turn = 0; turn < 400; turn++) {
        uint64_t times;
        if (read(fd, &times, sizeof times) < 0) return 1;
        if (turn % 20 == 19) { long long end = now() + 7000000; while (now() < end); }
    }
    return 0;
}
"#;

#[test]
fn a_strict_rhythm_is_known_and_so_is_what_it_missed() {
    if !has_bpf_and_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), RHYTHMIC) else { return };
    let document = json(&["watch", "--json", "--quiet", "--", program.to_str().unwrap()], 0);
    assert_eq!(document["ended"], "done", "it ends with the program");
    let result = by_timer(&document);
    assert_eq!(result["condition"]["name"], "rhythmic");
    // Each of the 20 long iterations covers three due times; some at the end may be missed.
    assert!(result["rhythm"]["missed"].as_u64().unwrap() >= 20, "{}", result["rhythm"]);
}

/// A Python loop in the background that reports its start.
fn background() -> Child {
    let script = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.005)";
    let mut child = Command::new(python()).args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "begun");
    child
}

#[test]
fn a_process_that_was_only_watched_runs_on() {
    if !has_bpf_and_python() {
        return;
    }
    let mut program = background();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.jsonl");
    let pid = program.id().to_string();
    for signal in [Signal::INT, Signal::KILL] {
        drop(std::fs::remove_file(&path));
        let mut command = howlate(&["watch", &pid, "--quiet", "--out", path.to_str().unwrap()]);
        let mut watching = command.stdout(Stdio::null()).spawn().unwrap();
        // The first may be of wake-ups that no timer caused.
        crate::common::wait_until("two blocks", || {
            std::fs::read_to_string(&path).is_ok_and(|text| text.matches("\"block\"").count() >= 2)
        });
        kill_process(Pid::from_child(&watching), signal).unwrap();
        let status = watching.wait().unwrap();
        assert_eq!(status.code(), if signal == Signal::INT { Some(0) } else { None });
        assert!(program.try_wait().unwrap().is_none(), "it runs on");
        let shown = json(&["show", path.to_str().unwrap(), "--json"], 0);
        assert!(by_timer(&shown)["count"].as_u64().unwrap() > 0, "what was seen is kept");
    }
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn a_killed_howlate_leaves_its_program_running() {
    if !has_bpf_and_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.jsonl");
    let python = python();
    let mut command =
        howlate(&["watch", "--quiet", "--out", path.to_str().unwrap(), "--", &python, "-c", SLEEPER]);
    let mut watching = command.stdout(Stdio::null()).spawn().unwrap();
    crate::common::wait_until("a thread", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.contains("\n{\"started\""))
    });
    let started = std::fs::read_to_string(&path).unwrap();
    let started = started.lines().find(|line| line.starts_with("{\"started\"")).unwrap().to_owned();
    let started: Value = serde_json::from_str(&started).unwrap();
    let tid = i32::try_from(started["started"]["in_force"]["tid"].as_i64().unwrap()).unwrap();
    watching.kill().unwrap();
    watching.wait().unwrap();
    let program = Pid::from_raw(tid).unwrap();
    test_kill_process(program).unwrap();
    kill_process(program, Signal::KILL).unwrap();
}

#[test]
fn limits_and_failures_are_told_apart() {
    if !has_bpf_and_python() {
        return;
    }
    let python = python();
    let script = "import time, sys\nfor turn in range(200): time.sleep(0.001)\nsys.exit(int(sys.argv[1]))";
    let ends = |limit: &str, status: &str| {
        run(&["watch", "--quiet", "--fail-above", limit, "--", &python, "-c", script, status])
    };
    assert_eq!(ends("p50>10s", "0").status.code(), Some(0));
    let exceeded = ends("p50>1ns", "0");
    assert_eq!(exceeded.status.code(), Some(1));
    assert!(stderr(&exceeded).contains("limit exceeded: p50 is "), "{}", stderr(&exceeded));
    let failed = ends("p50>1ns", "7");
    assert_eq!(failed.status.code(), Some(2), "what failed says nothing of lateness");
    assert!(stderr(&failed).contains("ended with status 7"), "{}", stderr(&failed));
}

#[test]
fn what_is_late_can_start_commands_and_end_the_watch() {
    if !has_bpf_and_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, second_file) = (folder.path().join("late.json"), folder.path().join("second"));
    // Both are run, and waited for.
    let first = format!("sleep 0.2; cat > {0}.new && mv {0}.new {0}", file.display());
    let second = format!("sleep 0.2; touch {}", second_file.display());
    let actions = ["--late-above", "1ns", "--on-late", &first, "--on-late", &second, "--on-late", "stop"];
    let program = ["--", &python(), "-c", SLEEPER];
    let output = run(&[&["watch", "--quiet"], &actions[..], &program].concat());
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("stopped by --on-late: the worst was "), "{message}");
    assert!(second_file.exists() && !stdout(&output).contains(" not run"), "{message}");
    let one_at_a_time =
        ["watch", "--quiet", "--duration", "1s", "--late-above", "1ns", "--on-late", "sleep 0.2"];
    let result = stdout(&run(&[&one_at_a_time[..], &program].concat()));
    assert!(result.contains(" not run, as an earlier one still ran."), "{result}");
    let late: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(late["latency_ns"].as_i64() > Some(0), "{late}");
    let sum: i64 = late["parts"].as_array().unwrap().iter().map(|part| part["ns"].as_i64().unwrap()).sum();
    assert_eq!(Some(sum), late["latency_ns"].as_i64(), "{late}");
    assert!(late["process"].as_str().unwrap().contains("python"), "{late}");
    let refused = run(&["watch", "--on-late", "stop", "--", "sleep", "1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--late-above"), "{}", stderr(&refused));
    let untraced =
        ["watch", "--tracer", "switches", "--late-above", "1ms", "--on-late", "stop", "--", "sleep", "1"];
    let unseen = run(&untraced);
    assert_eq!(unseen.status.code(), Some(2), "{}", stderr(&unseen));
    assert!(stderr(&unseen).contains("--on-late would do nothing here"), "{}", stderr(&unseen));
}

#[test]
fn a_limit_that_nothing_could_keep_is_not_kept() {
    if !has_bpf_and_python() {
        return;
    }
    let output =
        run(&["watch", "--quiet", "--thread", "nobody", "--fail-above", "max>1us", "--", "sleep", "0.1"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("cannot be judged: max>1us: nothing was measured"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_program_that_is_not_there_is_told() {
    if !has_bpf_and_python() {
        return;
    }
    let output = run(&["watch", "--quiet", "--", "/no/such/program"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    assert!(stderr(&output).contains("cannot start `/no/such/program`"), "{}", stderr(&output));
}

#[test]
fn without_privilege_it_is_known_how_long_threads_wait_for_a_cpu() {
    let anyone = crate::common::ForAnyone::new();
    let script = "turn=0; while [ $turn -lt 60 ]; do sleep 0.01; turn=$((turn + 1)); done";
    let arguments =
        ["watch", "--tracer", "switches", "--json", "--quiet", "--out", "w.jsonl", "--", "sh", "-c", script];
    let output = anyone.howlate(&arguments).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [shell] = document["results"].as_array().unwrap().as_slice() else { panic!("{document}") };
    assert_eq!(
        (&shell["condition"]["mechanism"], &shell["condition"]["name"]),
        (&"unseen".into(), &"sh".into())
    );
    assert_eq!(
        (&shell["count"], &shell["latency_ns"]),
        (&0.into(), &Value::Null),
        "nobody knows how late it was"
    );
    let got = &shell["rhythm"]["run_queue"];
    // It waits for each child. Events after the last reading are unknown.
    assert!(got["switch_ins"].as_u64().is_some_and(|times| times >= 20), "{document}");
    assert!(got["waited_ns"].is_u64() && got["mean_wait_ns"].is_u64(), "{document}");
    let shown = stdout(&anyone.howlate(&["show", "w.jsonl"]).output().unwrap());
    assert!(shown.contains("preempted") && shown.contains("from the kernel's accounting"), "{shown}");
}

#[test]
fn whose_process_it_is_stands_before_what_the_kernel_refuses() {
    let anyone = crate::common::ForAnyone::new();
    let output = anyone.howlate(&["watch", "--duration", "50ms", "1"]).output().unwrap();
    if !stderr(&output).contains("belongs to user") {
        return skip("anyone may trace here, or this is no other user");
    }
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("process 1 belongs to user 0"), "{}", stderr(&output));
    assert!(stderr(&output).contains("`sudo howlate watch --duration 50ms 1`"), "{}", stderr(&output));
}

#[test]
fn who_may_not_trace_is_told_what_to_type() {
    let anyone = crate::common::ForAnyone::new();
    let script = "for turn in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done";
    let output = anyone.howlate(&["watch", "--quiet", "--", "sh", "-c", script]).output().unwrap();
    if output.status.code() == Some(0) {
        return skip("anyone may trace here");
    }
    assert_eq!(output.status.code(), Some(3), "it is measured, with less: {}", stderr(&output));
    assert!(stdout(&output).contains("Tracer bpf is not available"), "{}", stdout(&output));
    let only = anyone.howlate(&["watch", "--quiet", "--tracer", "bpf", "--", "true"]).output().unwrap();
    assert_eq!(only.status.code(), Some(2));
    assert!(stderr(&only).contains("the bpf tracer is not available"), "{}", stderr(&only));
}

#[test]
fn what_cannot_be_watched_is_one_clear_message() {
    let message = |arguments: &[&str]| {
        let output = run(&[&["watch"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        let text = stderr(&output);
        assert_eq!(text.matches("error:").count(), 1, "{text}");
        text
    };
    assert!(message(&["999999999"]).contains("there is no process 999999999"));
    assert!(message(&["no-such-process-name"]).contains("no process is called"));
    assert!(message(&[]).contains("PID|NAME"));
    let text = message(&["--tracer", "none", "--", "true"]);
    assert!(text.contains("when the threads of a program should have run"), "{text}");
    let mut dead = Command::new("true").spawn().unwrap();
    let pid = dead.id().to_string();
    let stat = format!("/proc/{pid}/stat");
    crate::common::wait_until("a zombie", || {
        std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "))
    });
    assert!(message(&[&pid]).contains("has ended already"));
    dead.wait().unwrap();
    if Path::new("/proc/2/comm").exists()
        && std::fs::read_to_string("/proc/2/comm").unwrap().trim() == "kthreadd"
    {
        assert!(message(&["2"]).contains("thread of the kernel"));
    }
}

#[test]
fn a_program_that_sleeps_all_the_time_is_said_to() {
    if !has_bpf_and_python() {
        return;
    }
    let mut sleeps = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = sleeps.id().to_string();
    let stat = format!("/proc/{pid}/stat");
    crate::common::wait_until("sleep", || {
        std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains("(sleep) S "))
    });
    let output = run(&["watch", &pid, "--duration", "100ms"]);
    assert!(stdout(&output).contains("No wake-up of a thread"), "{}", stdout(&output));
    sleeps.kill().unwrap();
    sleeps.wait().unwrap();
}

/// A thread that a timer wakes every 2 ms, and a second thread that the first one wakes.
const HANDS_ON: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
static sem_t work;
static void *worker(void *none) {
    for (int turn = 0; turn < 300; turn++) sem_wait(&work);
    return none;
}
int main(void) {
    pthread_t thread;
    sem_init(&work, 0, 0);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_setname_np(thread, "worker");
    for (int turn = 0; turn < 300; turn++) {
        struct timespec a_while = { 0, 2000000 };
        nanosleep(&a_while, NULL);
        sem_post(&work);
    }
    pthread_join(thread, NULL);
    return 0;
}
"#;

#[test]
fn a_deadline_is_handed_on_to_the_thread_that_is_woken_for_it() {
    if !has_bpf_and_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), HANDS_ON) else { return };
    let path = folder.path().join("w.jsonl");
    let out = path.to_str().unwrap();
    let document = json(&["watch", "--json", "--quiet", "--out", out, "--", program.to_str().unwrap()], 0);
    let results = document["results"].as_array().unwrap();
    let handed_on = results.iter().find(|result| result["condition"]["mechanism"] == "handed_on");
    let result = handed_on.unwrap_or_else(|| panic!("{document}"));
    assert_eq!(result["condition"]["name"], "worker");
    assert!(result["count"].as_u64().unwrap() >= 10, "{result}");
    let chain = &result["rhythm"]["handed_on"][0];
    assert_eq!(chain["through"], serde_json::json!(["rhythmic"]), "{chain}");
    for worst in result["why"]["worst"].as_array().unwrap() {
        assert_eq!(crate::common::sum(&worst["parts"], "ns"), worst["latency_ns"].as_i64().unwrap());
        // Includes the lateness of the first thread, and its work before it woke the second.
        assert!(
            worst["parts"].as_array().unwrap().iter().any(|part| part["part"] == "timer_slack"),
            "{worst}"
        );
    }
    let text = stdout(&run(&["show", out, "--details"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("another's timer") && text.contains("from a timer of rhythmic"), "{text}");
}
