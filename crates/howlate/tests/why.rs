//! Why wake-ups are late, for real. No test here asserts a duration of the machine's making.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::process::{Child, Stdio};

use common::{howlate, json, run, skip, stderr, stdout};
use serde_json::Value;

/// Whether the kernel's programs can be had here; says why not.
fn has_bpf() -> bool {
    let output = run(&[
        "cyclic",
        "--why",
        "--tracer",
        "bpf",
        "--samples",
        "20",
        "--threads",
        "1",
        "--rounds",
        "1",
        "--quiet",
    ]);
    if output.status.code() == Some(2) {
        skip(&stderr(&output));
    }
    output.status.code() != Some(2)
}

fn sum(parts: &Value, key: &str) -> i64 {
    parts.as_array().unwrap().iter().map(|one| one[key].as_i64().unwrap()).sum()
}

#[test]
fn parts_add_up_and_the_result_is_of_turns_without_tracer() {
    if !has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.jsonl");
    let out = path.to_str().unwrap();
    let asked = [
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
    let result = &json(&asked, 0)["results"][0];
    assert_eq!(result["count"], 300, "traced wake-ups are not among them");
    let why = &result["why"];
    assert_eq!(why["tracer"], "bpf");
    assert_eq!(why["lost_events"], 0);
    let (known, unknown) = (why["decomposed"].as_u64().unwrap(), why["not_decomposed"].as_u64().unwrap());
    assert!(known >= 9 * unknown && known + unknown >= 290, "{known} of {}", known + unknown);
    for worst in why["worst"].as_array().unwrap() {
        assert_eq!(sum(&worst["parts"], "ns"), worst["latency_ns"].as_i64().unwrap());
    }
    assert_eq!(sum(&why["causes"], "late_ns"), why["late"]["total_ns"].as_i64().unwrap());
    assert!(why["probe_effect_ns"]["low"].is_i64(), "six pairs of turns give an interval");
    let shown = run(&["show", out, "--format", "json"]);
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    assert_eq!(shown["results"][0]["why"], *why, "a recording says the same");
    for asked in [["show", out], ["why", out]] {
        let text = stdout(&run(&asked));
        assert!(text.contains("Why:") && text.contains("Tracer bpf"), "{text}");
    }
}

/// Keeps CPU 0 from everyone else for a while, again and again, until its standard input closes.
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
    if !has_bpf() || !common::may_use_realtime() {
        return;
    }
    let mut hog = hog();
    let asked = [
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
    let result = &json(&asked, 0)["results"][0];
    hog.kill().unwrap();
    hog.wait().unwrap();
    let causes = result["why"]["causes"].as_array().unwrap();
    let found = causes.iter().find(|one| one["kind"] == "thread" && one["name"] == "sh");
    assert!(found.is_some_and(|one| one["wakeups"].as_u64() >= Some(1)), "{causes:?}");
}

#[test]
fn what_cannot_be_traced_is_refused_before_anything_is_measured() {
    let output = run(&["cyclic", "--why", "--call", "busy_wait", "--samples", "10", "--quiet"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nothing of this can be traced"), "{}", stderr(&output));
    let output = run(&["cyclic", "--tracer", "bpf", "--samples", "10"]);
    assert_eq!(output.status.code(), Some(2), "a tracer is for --why");
}

#[test]
fn without_a_tracer_it_is_measured_all_the_same() {
    let asked = [
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
    let result = &json(&asked, 0)["results"][0];
    assert_eq!(result["count"], 50);
    assert!(result["why"].is_null());
}
