//! Real measurements: properties that hold on any machine. No durations are asserted.

use crate::common::{has_caveat, json, may_use_realtime, run, show_json, skip, stderr};
use serde_json::Value;

const CALLS: [&str; 10] = [
    "clock_nanosleep",
    "clock_nanosleep_relative",
    "nanosleep",
    "timerfd",
    "posix_timer",
    "ppoll",
    "epoll_pwait2",
    "futex",
    "busy_wait",
    "sleep_then_spin",
];

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no integer"))
}

#[track_caller]
fn percentiles_rise(latency: &Value) {
    let keys = ["min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    let values: Vec<i64> = keys.iter().map(|key| number(&latency[*key])).collect();
    assert!(values.is_sorted() && values[0] >= 0, "{latency}");
}

#[test]
fn every_call_wakes_a_periodic_thread_as_often_as_asked() {
    let result =
        json(&["cyclic", "--threads", "1", "--call", &CALLS.join(","), "--samples", "30", "--json"], 0);
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), CALLS.len());
    for (result, call) in results.iter().zip(CALLS) {
        assert_eq!(result["condition"]["mechanism"], call);
        assert_eq!(result["condition"]["kind"], "cyclic");
        assert_eq!(result["count"], 30, "{call}");
        percentiles_rise(&result["latency_ns"]);
        percentiles_rise(&result["corrected_ns"]);
        assert!(!result["worst"].as_array().unwrap().is_empty());
        assert!(number(&result["usage"]["elapsed_ns"]) > 0);
    }
    assert_eq!(result["ended"], "done");
}

/// Each planned time is woken at or counted as missed, however late the threads are, also in the warm-up and at the end.
#[test]
fn a_duration_holds_as_many_wake_ups_as_were_planned() {
    let options =
        ["cyclic", "--threads=1", "--load=idle,cpu", "--period=500us", "--duration=200ms", "--rounds=2"];
    // On a busy machine a load may do too little: another status.
    let output = run(&[&options[..], &["--call", &CALLS.join(","), "--json"]].concat());
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for result in result["results"].as_array().unwrap() {
        assert_eq!(
            number(&result["count"]) + number(&result["missed_periods"]),
            400,
            "{}",
            result["condition"]
        );
    }
}

#[test]
fn every_call_sleeps_as_often_as_asked_and_never_too_short() {
    let calls: Vec<&str> = CALLS.into_iter().filter(|call| *call != "clock_nanosleep_relative").collect();
    let result = json(
        &["sleep", "--for", "0,10ns,50us,1ms", "--call", &calls.join(","), "--samples", "20", "--json"],
        0,
    );
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), 4 * calls.len());
    for result in results {
        assert_eq!(result["count"], 20, "{}", result["condition"]);
        percentiles_rise(&result["latency_ns"]);
        assert!(result.get("corrected_ns").is_none());
    }
    assert!(!has_caveat(&result, "early_wakeups"));
}

#[test]
fn settings_are_read_back_from_the_kernel() {
    let result = json(
        &["cyclic", "--policy", "batch,idle", "--slack", "1ns", "--cpus", "0", "--samples", "5", "--json"],
        0,
    );
    for (result, policy) in result["results"].as_array().unwrap().iter().zip(["batch", "idle"]) {
        assert_eq!(result["in_force"]["policy"], policy);
        assert_eq!(result["in_force"]["slack_ns"], 1);
        assert_eq!(result["in_force"]["cpus"], "0");
        assert_eq!(result["condition"]["cpu"], 0);
    }
}

#[test]
fn realtime_policies_are_really_in_force() {
    if !may_use_realtime() {
        return skip("real-time priorities are not allowed here");
    }
    let result =
        json(&["cyclic", "--threads", "1", "--policy", "fifo:99,rr:7", "--samples", "5", "--json"], 0);
    for (result, (policy, priority)) in
        result["results"].as_array().unwrap().iter().zip([("fifo", 99), ("rr", 7)])
    {
        assert_eq!(result["in_force"]["policy"], policy);
        assert_eq!(result["in_force"]["priority"], priority);
        assert_eq!(result["in_force"]["slack_ns"], 0);
    }
    let deadline =
        run(&["cyclic", "--threads", "1", "--policy", "deadline:200us/1ms", "--samples", "5", "--json"]);
    if deadline.status.code() != Some(0) {
        return skip("SCHED_DEADLINE was not admitted");
    }
    let deadline: Value = serde_json::from_slice(&deadline.stdout).unwrap();
    assert_eq!(deadline["results"][0]["in_force"]["policy"], "deadline");
    assert_eq!(deadline["results"][0]["in_force"]["runtime_ns"], 200_000);
}

#[test]
fn the_staircase_of_priorities_and_periods_runs() {
    if !may_use_realtime() {
        return skip("real-time priorities are not allowed here");
    }
    let arguments =
        "cyclic --threads 5 --policy fifo:99 --staircase --distance 500us --duration 200ms --json";
    let result = json(&arguments.split(' ').collect::<Vec<_>>(), 0);
    let stairs: Vec<(i64, i64)> = result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            (number(&result["in_force"]["priority"]), number(&result["condition"]["period_ns"]) / 1_000)
        })
        .collect();
    assert_eq!(stairs, [(99, 1_000), (98, 1_500), (97, 2_000), (96, 2_500), (95, 3_000)]);
}

#[test]
fn a_limit_ends_with_status_one_and_names_the_condition() {
    let output = run(&["cyclic", "--threads", "1", "--samples", "20", "--fail-above", "max>1ns"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("limit exceeded: max is "), "{}", stderr(&output));
    let output = run(&["cyclic", "--threads", "1", "--samples", "120", "--fail-above", "p99>1h"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Missed periods count too, so that there may be more than requested.
    let output = run(&["cyclic", "--threads", "1", "--samples", "20", "--fail-above", "p99.99>1h"]);
    assert_eq!(output.status.code(), Some(3));
    let says = "cannot be judged: p99.99 needs 10 000 wake-ups; only ";
    assert!(stderr(&output).contains(says), "{}", stderr(&output));
}

#[test]
fn a_threshold_stops_at_the_first_late_wake_up() {
    let result = json(&["cyclic", "--threads", "1", "--duration", "1h", "--stop-above", "1ns", "--json"], 1);
    assert_eq!(result["ended"], "stopped_above");
    assert_eq!(result["results"][0]["count"], 1);
    assert!(number(&result["results"][0]["worst"][0]["latency_ns"]) > 1);
}

#[test]
fn a_matrix_is_interleaved_and_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matrix.jsonl");
    let out = path.to_str().unwrap();
    let result = json(
        &[
            "sleep",
            "--for",
            "100us,1ms",
            "--policy",
            "other,batch",
            "--load",
            "idle,cpu",
            "--samples",
            "20",
            "--seed",
            "5",
            "--out",
            out,
            "--json",
        ],
        0,
    );
    assert_eq!(result["results"].as_array().unwrap().len(), 8);
    assert_eq!(result["seed"], 5);
    let recording = std::fs::read_to_string(&path).unwrap();
    let order: Vec<u64> = recording
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["started"]["condition"].as_u64())
        .collect();
    assert_eq!(order.len(), 80);
    assert_ne!(order[..8], order[8..16], "rounds have their own order");
    let loaded =
        recording.lines().filter(|line| line.contains("\"finished\"") && line.contains("\"load\"")).count();
    assert_eq!(loaded, 40, "every turn under load says what the load did");
    assert_eq!(show_json(&path)["results"], result["results"]);
}

#[test]
fn sleeps_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.jsonl");
    let out = path.to_str().unwrap();
    json(&["sleep", "--for", "100us", "--samples", "50", "--rounds", "2", "--out", out, "--json"], 0);
    let output = run(&["show", "--format", "intervals", out]);
    let text = crate::common::stdout(&output);
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), 50);
    let took: Vec<i64> = rows.iter().map(|row| row.split(',').nth(8).unwrap().parse().unwrap()).collect();
    assert!(took.iter().all(|took| *took >= 100_000));
    assert_eq!(
        rows.iter().filter(|row| row.ends_with(',')).count(),
        2,
        "the first of each turn has no interval"
    );
}

#[test]
fn a_terminal_sees_progress_and_a_pipe_does_not() {
    let command = format!("{} cyclic --threads 2 --duration 1s --period 10ms", env!("CARGO_BIN_EXE_howlate"));
    let seen = std::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .output();
    let Ok(seen) = seen else { return skip("script(1) is not installed") };
    let seen = crate::common::stdout(&seen);
    assert!(
        seen.contains("wake-ups") && seen.contains(" left · turn 1 of 1") && seen.contains("load average"),
        "{seen}"
    );
    assert!(seen.contains("left"), "{seen}");
    let piped = run(&["cyclic", "--threads", "1", "--duration", "500ms", "--period", "10ms"]);
    assert_eq!(stderr(&piped), "");
    assert!(!crate::common::stdout(&piped).contains('\u{1b}'));
}

#[test]
fn measured_threads_meet_no_page_fault() {
    let calls = CALLS.join(",");
    // Enough to fill several pages of memory.
    let cyclic = ["cyclic", "--threads", "2", "--period", "100us", "--call", &calls, "--samples", "2000"];
    let sleep = ["sleep", "--for", "10us", "--samples", "2000"];
    let notify = ["notify", "--mechanism", "futex,pipe,semaphore", "--after", "10us", "--samples", "2000"];
    for options in [&cyclic[..], &sleep, &notify] {
        // Memory that howlate does not touch beforehand faults in every run. Locked pages that the kernel moves
        // (`vm.compact_unevictable_allowed`) fault sometimes.
        let faults = loop_until_unmoved(|| {
            let result = json(&[options, &["--rounds", "1", "--json"]].concat(), 0);
            let results = result["results"].as_array().unwrap();
            let is_locked = results[0]["in_force"]["memory_locked"] == true;
            let of =
                |value: &Value| ["minor_faults", "major_faults"].map(|name| number(&value["usage"][name]));
            let faulted = results.iter().filter(|result| is_locked && of(result) != [0, 0]);
            (is_locked, faulted.map(|result| format!("{:?} {}", of(result), result["condition"])).collect())
        });
        let Some(faults) = faults else { return skip("memory cannot be locked here") };
        assert_eq!(faults, Vec::<String>::new());
    }
}

/// Page faults in the first run without any, or without moved pages; otherwise in the last of eight. `None` where memory is not locked.
fn loop_until_unmoved(run: impl Fn() -> (bool, Vec<String>)) -> Option<Vec<String>> {
    let moved = || {
        let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("pgmigrate_success ")).map(str::to_owned)
    };
    let mut last = Vec::new();
    for _ in 0..8 {
        let before = moved();
        let (is_locked, faults) = run();
        if !is_locked {
            return None;
        }
        if faults.is_empty() || moved() == before {
            return Some(faults);
        }
        last = faults;
    }
    Some(last)
}

#[test]
fn a_duration_without_samples_is_how_long_sleeps_are_measured() {
    let sleep = |extent: &[&str]| {
        let result = json(&[&["sleep", "--for", "100ms", "--json", "--quiet"], extent].concat(), 0);
        number(&result["results"][0]["count"])
    };
    // By default, as many as fit into a second.
    assert_eq!(sleep(&[]), 10);
    assert!(sleep(&["--duration", "3s"]) > 10);
    assert_eq!(sleep(&["--duration", "20s", "--samples", "4"]), 4);
}

#[test]
fn warm_up_is_what_was_asked_for_and_stands_in_the_result() {
    for kind in [
        &["cyclic", "--threads", "1"][..],
        &["sleep", "--for", "1ms"],
        &["notify", "--mechanism", "pipe", "--after", "1ms"],
    ] {
        let options = ["--warm-up", "7", "--samples", "20", "--rounds", "2", "--json", "--quiet"];
        let result = json(&[kind, &options].concat(), 0);
        let measured = &result["results"][0];
        assert_eq!((number(&measured["warm_up"]), number(&measured["count"])), (14, 20), "{measured}");
    }
}
