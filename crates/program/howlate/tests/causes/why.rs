//! Causes of late wake-ups on the real machine. No durations of the machine are asserted.

use std::process::{Child, Command, Stdio};

use crate::alone;
use crate::common::{ForAnyone, has_bpf, howlate, json, run, skip, stderr, stdout, sum};
use serde_json::Value;

/// Skips a test without a tracer; a tracer that is there and fails is no reason to skip.
#[track_caller]
fn skip_without_tracer(message: &str) {
    assert!(!message.contains("the kernel refuses to"), "{message}");
    skip(message);
}

#[test]
fn parts_add_up_and_the_result_is_of_turns_without_tracer() {
    if !has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.jsonl");
    let out = path.to_str().unwrap();
    let options = [
        "cyclic",
        "--why",
        "--threads",
        "1",
        "--cpus",
        "0",
        "--samples",
        "300",
        "--rounds",
        "6",
        "--json",
        "--quiet",
        "--out",
        out,
    ];
    let result = &json(&options, 0)["results"][0];
    assert_eq!(result["count"], 300, "traced wake-ups are not among them");
    let why = &result["why"];
    assert_eq!(why["tracer"], "bpf");
    assert_eq!(why["lost_events"], 0);
    let (decomposed, undecomposed) =
        (why["decomposed"].as_u64().unwrap(), why["not_decomposed"].as_u64().unwrap());
    assert!(
        decomposed >= 9 * undecomposed && decomposed + undecomposed >= 290,
        "{decomposed} of {}",
        decomposed + undecomposed
    );
    for worst in why["worst"].as_array().unwrap() {
        assert_eq!(sum(&worst["parts"], "ns"), worst["latency_ns"].as_i64().unwrap());
    }
    assert_eq!(sum(&why["causes"], "late_ns"), why["late"]["total_ns"].as_i64().unwrap());
    assert!(why["probe_effect_ns"]["low"].is_i64(), "six pairs of turns give an interval");
    let shown = run(&["show", out, "--json"]);
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    assert_eq!(shown["results"][0]["why"], *why, "a recording says the same");
    for command in ["show", "why"] {
        let brief = stdout(&run(&[command, out]));
        assert!(brief.contains("Causes of the slowest 1 %"), "{brief}");
        let text = stdout(&run(&[command, "--details", out]));
        assert!(text.contains("Why:") && text.contains("Tracer bpf"), "{text}");
    }
}

/// Repeatedly takes CPU 0 from all other threads until its standard input closes.
fn hog() -> Child {
    howlate(&["load", "cmd:taskset -c 0 chrt -f 20 sh -c 'while :; do i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; sleep 0.009; done'"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_thread_that_hogs_the_cpu_is_named() {
    if !has_bpf() || !crate::common::may_use_realtime() {
        return;
    }
    let mut hog = hog();
    let options = [
        "cyclic",
        "--why",
        "--threads",
        "1",
        "--cpus",
        "0",
        "--samples",
        "1000",
        "--rounds",
        "2",
        "--json",
        "--quiet",
    ];
    let result = &json(&options, 0)["results"][0];
    hog.kill().unwrap();
    hog.wait().unwrap();
    let causes = result["why"]["causes"].as_array().unwrap();
    let found = causes.iter().find(|cause| cause["kind"] == "thread" && cause["name"] == "sh");
    assert!(found.is_some_and(|cause| cause["wakeups"].as_u64() >= Some(1)), "{causes:?}");
}

/// JSON result of one thread measured with `tracer`; `None` without the tracer, with the reason printed.
fn measure_traced(tracer: &str, mut command: Command) -> Option<Value> {
    let output = command
        .args(["cyclic", "--why", "--tracer", tracer, "--threads", "1", "--samples", "300"])
        .args(["--rounds", "2", "--json", "--details", "--quiet"])
        .output()
        .unwrap();
    if output.status.code() == Some(2) {
        skip_without_tracer(&stderr(&output));
        return None;
    }
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(result["results"][0]["why"].clone())
}

/// Most wake-ups are decomposed completely; returns the names of the parts.
fn assert_decomposed(why: &Value, tracer: &str) -> Vec<String> {
    assert_eq!(
        (&why["tracer"], &why["lost_events"], &why["clamped"]),
        (&tracer.into(), &0.into(), &0.into())
    );
    let (decomposed, undecomposed) =
        (why["decomposed"].as_u64().unwrap(), why["not_decomposed"].as_u64().unwrap());
    assert!(
        decomposed >= 9 * undecomposed && decomposed + undecomposed >= 290,
        "{decomposed} of {}",
        decomposed + undecomposed
    );
    let worst = why["worst"].as_array().unwrap();
    assert!(!worst.is_empty());
    for wakeup in worst {
        assert_eq!(sum(&wakeup["parts"], "ns"), wakeup["latency_ns"].as_i64().unwrap());
    }
    let parts = why["parts"].as_array().unwrap();
    parts.iter().map(|part| part["part"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn anybody_learns_the_parts_that_switches_tell() {
    let place = ForAnyone::new();
    let Some(why) = measure_traced("switches", place.howlate(&[])) else { return };
    let parts = assert_decomposed(&why, "switches");
    let visible_parts =
        ["arming", "timer_slack", "before_runnable", "waiting", "lost_again", "return", "not_seen"];
    assert!(parts.iter().all(|part| visible_parts.contains(&part.as_str())), "{parts:?}");
    for part in ["timer_slack", "before_runnable", "return"] {
        assert!(parts.iter().any(|name| name == part), "{part} is not in {parts:?}");
    }
    let kinds = why["causes"].as_array().unwrap().iter().map(|cause| cause["kind"].as_str().unwrap());
    let blamed: Vec<&str> = kinds.filter(|kind| ["thread", "interrupt", "softirq"].contains(kind)).collect();
    assert!(blamed.is_empty(), "no switch record names anybody: {blamed:?}");
}

/// `arguments` as root with tracefs, mounted in a private namespace if necessary; `None` where that is impossible.
fn with_tracefs(arguments: &[&str]) -> Option<Command> {
    const MOUNT: &str = "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || exit 77; exec \"$@\"";
    if !crate::common::is_root() {
        skip("tracefs is root's");
        return None;
    }
    let in_namespace = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", MOUNT, "sh", program]).args(arguments).env("COLUMNS", "100");
        command
    };
    if in_namespace("true", &[]).status().ok().and_then(|status| status.code()) != Some(0) {
        skip("tracefs cannot be mounted here");
        return None;
    }
    Some(in_namespace(env!("CARGO_BIN_EXE_howlate"), arguments))
}

#[test]
fn trace_events_tell_nearly_all_parts() {
    let _alone = alone();
    let Some(command) = with_tracefs(&[]) else { return };
    let Some(why) = measure_traced("tracefs", command) else { return };
    let parts = assert_decomposed(&why, "tracefs");
    for part in ["timer_slack", "interrupt_delivery", "wake_up", "return"] {
        assert!(parts.iter().any(|name| name == part), "{part} is not in {parts:?}");
    }
    assert!(!parts.iter().any(|part| part == "before_runnable"), "{parts:?}");
}

/// The trace instances of howlate.
fn instances() -> Vec<String> {
    let script = "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing; ls /sys/kernel/tracing/instances";
    let output = Command::new("unshare").args(["--mount", "sh", "-c", script]).output().unwrap();
    stdout(&output).lines().filter(|name| name.starts_with("howlate-")).map(str::to_owned).collect()
}

#[test]
fn a_trace_is_removed_and_one_that_was_left_by_the_next() {
    let traced = ["cyclic", "--why", "--tracer", "tracefs", "--threads", "1", "--quiet", "--rounds", "1"];
    let next = ["cyclic", "--threads", "1", "--samples", "20", "--quiet"];
    let all = (with_tracefs(&traced), with_tracefs(&traced), with_tracefs(&next));
    let (Some(mut command), Some(mut other), Some(mut next)) = all else { return };
    let mut child = command.args(["--duration", "1m"]).stdout(Stdio::null()).spawn().unwrap();
    let mine = format!("howlate-{}", child.id());
    while !instances().contains(&mine) {
        if child.try_wait().unwrap().is_some() {
            return skip("no trace can be made here");
        }
        crate::common::pause(20);
    }
    // The instance of a running howlate stays.
    let output = other.args(["--samples", "20"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(instances().contains(&mine), "{:?}", instances());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(instances().contains(&mine), "nobody could remove it yet");
    assert_eq!(next.output().unwrap().status.code(), Some(0));
    assert!(!instances().contains(&mine), "{:?}", instances());
}

#[test]
fn a_trace_that_cannot_be_made_says_what_to_type() {
    let place = ForAnyone::new();
    let options = ["cyclic", "--why", "--tracer", "tracefs", "--samples", "10"];
    let output = place.howlate(&options).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = stderr(&output);
    assert!(text.contains("mount -t tracefs") || text.contains("run as root"), "{text}");
    // tracefs is only visible there: debugfs contains a second mount of it.
    let read_only = "umount -R /sys/kernel/debug 2>/dev/null; mount -t tracefs -o ro tracefs /sys/kernel/tracing 2>/dev/null || mount -o remount,ro,bind /sys/kernel/tracing || exit 77; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", read_only, "sh", env!("CARGO_BIN_EXE_howlate")]).args(options);
    let output = command.output().unwrap();
    if output.status.code() == Some(77) || !crate::common::is_root() {
        return skip("tracefs cannot be mounted read-only here");
    }
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("mount -o remount,rw"), "{}", stderr(&output));
}

#[test]
fn a_tracer_that_cannot_be_had_ends_the_program_before_it_measures() {
    let place = ForAnyone::new();
    let options = ["cyclic", "--why", "--tracer", "bpf", "--samples", "10", "--out", "none.jsonl"];
    let output = place.howlate(&options).output().unwrap();
    if output.status.code() == Some(0) {
        return skip("anybody may load programs into this kernel");
    }
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the bpf tracer is not available"), "{}", stderr(&output));
    assert!(!place.folder.path().join("none.jsonl").exists());
    let output = run(&["cyclic", "--why", "--tracer", "dtrace", "--samples", "10"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("write auto, bpf,"), "{}", stderr(&output));
}

#[test]
fn the_best_tracer_that_can_be_had_is_taken_and_the_others_are_named() {
    let place = ForAnyone::new();
    let options =
        ["cyclic", "--why", "--threads", "1", "--samples", "50", "--rounds", "1", "--json", "--quiet"];
    let output = place.howlate(&options).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let caveats = result["caveats"].as_array().unwrap();
    let refused: Vec<&str> = caveats
        .iter()
        .filter(|caveat| caveat["caveat"] == "tracer_refused")
        .map(|caveat| caveat["tracer"].as_str().unwrap())
        .collect();
    let taken = result["results"][0]["why"]["tracer"].as_str();
    let all = ["bpf", "tracefs", "switches"];
    let before = taken.and_then(|taken| all.iter().position(|tracer| *tracer == taken)).unwrap_or(all.len());
    assert_eq!(refused, all[..before], "{caveats:?}");
}

#[test]
fn what_cannot_be_traced_is_refused_before_anything_is_measured() {
    let output = run(&["cyclic", "--why", "--call", "busy_wait", "--samples", "10", "--quiet"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("none of this can be traced"), "{}", stderr(&output));
    let output = run(&["cyclic", "--tracer", "bpf", "--samples", "10"]);
    assert_eq!(output.status.code(), Some(2), "a tracer is for --why");
}

/// A long run names causes by default, from turns that are not part of its numbers; `--tracer none` leaves them out.
#[test]
fn a_long_run_traces_a_tenth_by_itself() {
    if !has_bpf() {
        return;
    }
    let options = ["cyclic", "--threads", "1", "--samples", "1000", "--rounds", "10", "--period", "10ms"];
    let shown = |more: &[&str]| {
        let output = run(&[&options[..], &["--json", "--quiet"], more].concat());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let traced = |result: &Value| {
        let why = &result["results"][0]["why"];
        (why["decomposed"].as_u64().unwrap_or(0) + why["not_decomposed"].as_u64().unwrap_or(0), why.is_null())
    };
    let result = shown(&[]);
    assert_eq!(result["results"][0]["count"], 1_000);
    let (number, _) = traced(&result);
    assert!((50..=150).contains(&number), "{number}");
    let (_, is_none) = traced(&shown(&["--tracer", "none"]));
    assert!(is_none);
}

/// The JSON of a command with --why; its status depends on how busy the machine is.
fn run_why(options: &[&str]) -> Value {
    let more = ["--why", "--rounds", "2", "--json", "--quiet"];
    let output = run(&[options, &more].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Most wake-ups are decomposed, and the parts of each add up to its lateness; returns the names of all parts.
fn parts_of(why: &Value) -> Vec<&str> {
    let (decomposed, undecomposed) =
        (why["decomposed"].as_u64().unwrap(), why["not_decomposed"].as_u64().unwrap());
    assert!(
        decomposed > 0 && decomposed >= 9 * undecomposed,
        "{decomposed} of {}",
        decomposed + undecomposed
    );
    for wakeup in why["worst"].as_array().unwrap() {
        assert_eq!(sum(&wakeup["parts"], "ns"), wakeup["latency_ns"].as_i64().unwrap());
    }
    assert_eq!(sum(&why["causes"], "late_ns"), why["late"]["total_ns"].as_i64().unwrap());
    why["parts"].as_array().unwrap().iter().map(|part| part["part"].as_str().unwrap()).collect()
}

#[test]
fn a_receiver_is_followed_from_the_send_to_its_return() {
    if !has_bpf() {
        return;
    }
    let options = ["notify", "--mechanism", "pipe,sched_yield", "--after", "1ms", "--samples", "200"];
    for between in ["processes", "threads"] {
        let result = run_why(&[&options[..], &["--between", between]].concat());
        let parts = parts_of(&result["results"][0]["why"]);
        for part in ["sending", "waiting", "return"] {
            assert!(parts.contains(&part), "{between}: {part} is not in {parts:?}");
        }
        assert!(!parts.contains(&"timer_slack") && !parts.contains(&"blocked"), "{between}: {parts:?}");
        assert!(result["results"][1]["why"].is_null(), "nothing wakes one that never sleeps");
        assert!(crate::common::has_caveat(&result, "not_traced"), "and that is said: {}", result["caveats"]);
    }
}

#[test]
fn the_sleep_of_another_language_is_followed() {
    if !has_bpf() {
        return;
    }
    if !crate::common::is_installed("python3") {
        return skip("there is no Python");
    }
    let options = ["sleep", "--call", "python,shell", "--for", "2ms", "--samples", "100"];
    let result = run_why(&options);
    let parts = parts_of(&result["results"][0]["why"]);
    for part in ["arming", "interrupt_delivery", "wake_up", "return"] {
        assert!(parts.contains(&part), "{part} is not in {parts:?}");
    }
    assert!(result["results"][1]["why"].is_null() && crate::common::has_caveat(&result, "not_traced"));
}

#[test]
fn which_wake_ups_are_late_can_be_said() {
    if !has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.jsonl");
    let out = path.to_str().unwrap();
    let options = ["cyclic", "--threads", "1", "--samples", "200", "--late-above", "1ns", "--out", out];
    let why = run_why(&options)["results"][0]["why"].take();
    let all = why["decomposed"].as_u64().unwrap() + why["not_decomposed"].as_u64().unwrap();
    assert_eq!((&why["late"]["above_ns"], why["late"]["count"].as_u64()), (&0.into(), Some(all)));
    assert_eq!(crate::common::show_json(&path)["results"][0]["why"], why, "a recording says the same");
    let none = stdout(&run(&["why", out, "--late-above", "1h"]));
    assert!(
        none.contains(&format!("None of {all} traced wake-ups was at least 60 min late")),
        "what is typed of a recording holds: {none}"
    );
    let output = run(&["cyclic", "--late-above", "1ms", "--samples", "10"]);
    assert_eq!(output.status.code(), Some(2), "it is for --why");
}

#[test]
fn what_is_late_in_a_traced_turn_can_start_a_command() {
    if !has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.json");
    let command = format!("cat > {0}.new && mv {0}.new {0}", file.display());
    let measured = ["cyclic", "--threads", "1", "--duration", "1s", "--rounds", "2", "--quiet", "--no-save"];
    let actions = ["--why", "--late-above", "1ns", "--on-late", &command, "--on-late", "sleep 1"];
    let output = run(&[&measured[..], &actions].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = stdout(&output);
    assert!(result.contains(" not run, as an earlier one still ran."), "{result}");
    let late: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let parts = late["parts"].as_array().unwrap();
    let sum: i64 = parts.iter().map(|part| part["ns"].as_i64().unwrap()).sum();
    assert_eq!(Some(sum), late["latency_ns"].as_i64(), "{late}");
    assert!(late["process"].as_str().unwrap().contains("howlate"), "{late}");
    let refused = |arguments: &[&str], reason: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
    };
    let with = |action| ["cyclic", "--why", "--late-above", "1ms", "--on-late", action];
    refused(&with("stop"), "`--stop-above LENGTH` ends the run");
    refused(&["cyclic", "--why", "--on-late", "true"], "--late-above");
    refused(&[&["guest", "--kernel", "debian:6.1", "--"], &with("true")[..]].concat(), "--on-late");
    refused(&[&with("true")[..], &["--tracer", "none"]].concat(), "--on-late would do nothing here");
    let plan = folder.path().join("plan.toml");
    std::fs::write(&plan, "why = true\nlate-above = \"1ms\"\non-late = \"true\"\n[[cyclic]]\n").unwrap();
    refused(&["run", plan.to_str().unwrap()], "`on-late` is not for plans");
}

#[test]
fn without_a_tracer_it_is_measured_all_the_same() {
    let options = [
        "cyclic",
        "--why",
        "--tracer",
        "none",
        "--threads",
        "1",
        "--samples",
        "50",
        "--rounds",
        "2",
        "--json",
        "--quiet",
    ];
    let result = &json(&options, 0)["results"][0];
    assert_eq!(result["count"], 50);
    assert!(result["why"].is_null());
}
