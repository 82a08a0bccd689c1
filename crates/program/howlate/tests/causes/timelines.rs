//! Timelines of all CPUs around late wake-ups that the tests cause. No durations of the machine are asserted.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::alone;
use crate::common::{
    ForAnyone, assert_valid, has_bpf, howlate, json, may_use_realtime, run, stderr, sum, wait_until,
};
use crate::record::{held_up, slice_names};

/// Timeline files in a folder: of late wake-ups, and on request.
fn files(folder: &Path) -> (Vec<String>, Vec<String>) {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap());
    let mut all: Vec<String> = names.filter(|name| name.ends_with(".trace.json")).collect();
    all.sort();
    all.into_iter().partition(|name| !name.contains("-snap"))
}

fn file_names(document: &Value) -> Vec<String> {
    let all = document["timelines"].as_array().into_iter().flatten();
    let mut names: Vec<String> = all.map(|timeline| timeline["file"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_worst_wake_ups_of_a_program_have_a_timeline_and_a_signal_keeps_another() {
    let _alone = alone();
    if !has_bpf() || !may_use_realtime() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.jsonl");
    let (at, me) = (out.to_str().unwrap(), std::process::id().to_string());
    let options = ["watch", &me, "--thread", "victim", "--late-above", "6ms", "--keep", "2s,2"];
    let mut command = howlate(&[&options[..], &["--json", "--details", "--quiet", "--out", at]].concat());
    let watching = command.stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the recording", || out.exists());
    // On a busy machine the watching starts some time after the recording.
    let mut made = Vec::new();
    wait_until("a timeline", || {
        made.push(held_up());
        !files(folder.path()).0.is_empty()
    });
    let process = Pid::from_child(&watching);
    kill_process(process, Signal::USR2).unwrap();
    wait_until("what was asked for", || !files(folder.path()).1.is_empty());
    kill_process(process, Signal::INT).unwrap();
    let printed = watching.wait_with_output().unwrap().stdout;
    let document: Value = serde_json::from_slice(&printed).unwrap();

    let (worst, asked_for) = files(folder.path());
    assert!((1..=2).contains(&worst.len()) && asked_for.len() == 1, "{worst:?} {asked_for:?}");
    let mut all = [worst.clone(), asked_for].concat();
    all.sort();
    assert_eq!(file_names(&document), all, "no more and no less than there are");
    assert_valid(&document, "result");
    for timeline in document["timelines"].as_array().unwrap() {
        let slices = slice_names(&folder.path().join(timeline["file"].as_str().unwrap()));
        assert!(!slices.is_empty(), "{timeline}");
        let Some(latest) = timeline["late"].get(0) else { continue };
        assert_eq!(latest["thread"], "victim", "{timeline}");
        assert!(made.iter().any(|timeline| latest["tid"] == timeline.victim), "{timeline}");
        assert_eq!(sum(&latest["parts"], "ns"), latest["latency_ns"].as_i64().unwrap(), "{timeline}");
        assert!(latest["latency_ns"].as_i64().unwrap() > 6_000_000, "{timeline}");
        assert!(
            made.iter().any(|timeline| slices.contains(&format!("hog ({})", timeline.hog))),
            "{slices:?}"
        );
    }
    let shown = json(&["show", at, "--json"], 0);
    assert_eq!(shown["timelines"], document["timelines"], "a recording says the same");
    let text = String::from_utf8(run(&["show", at]).stdout).unwrap();
    assert!(text.contains("Timelines of all CPUs") && text.contains(&worst[0]), "{text}");
    let trace = run(&["show", at, "--format", "perfetto"]);
    assert_eq!(trace.status.code(), Some(0), "{}", stderr(&trace));
    let trace = String::from_utf8_lossy(&trace.stdout).into_owned();
    assert!(trace.contains("hog") && trace.contains(" ms late"));

    worst.iter().for_each(|name| std::fs::remove_file(folder.path().join(name)).unwrap());
    let shown = json(&["show", at, "--json"], 0);
    assert_eq!(file_names(&shown).len(), 1, "what is gone is not named");
}

#[test]
fn traced_turns_keep_the_worst_of_the_run() {
    let _alone = alone();
    if !has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.jsonl");
    let options =
        ["cyclic", "--threads", "1", "--duration", "1s", "--rounds", "2", "--why", "--keep", "1s,2"];
    let document = json(&[&options[..], &["--json", "--quiet", "--out", out.to_str().unwrap()]].concat(), 0);
    let (worst, asked_for) = files(folder.path());
    assert!((1..=2).contains(&worst.len()) && asked_for.is_empty(), "{worst:?} {asked_for:?}");
    assert_eq!(file_names(&document), worst);
    assert_valid(&document, "result");
    for timeline in document["timelines"].as_array().unwrap() {
        assert_eq!(timeline["late"][0]["process"], "howlate", "{timeline}");
        assert_eq!(timeline["late"][0]["condition"], 0, "{timeline}");
    }
}

#[test]
fn without_permission_it_says_so_and_goes_on() {
    let place = ForAnyone::new();
    let options =
        ["cyclic", "--threads", "1", "--duration", "200ms", "--rounds", "1", "--why", "--keep", "1s"];
    let output = place
        .howlate(&[&options[..], &["--json", "--details", "--quiet", "--out", "run.jsonl"]].concat())
        .output();
    let document: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let caveats = document["caveats"].as_array().unwrap();
    let refused = caveats.iter().find(|caveat| caveat["caveat"] == "timelines_refused");
    let text = refused.unwrap_or_else(|| panic!("{caveats:?}"))["text"].as_str().unwrap();
    assert!(text.starts_with("No timelines of all CPUs are kept: "), "{text}");
    assert!(document["results"][0]["count"].as_u64().unwrap() > 0);
}

#[test]
fn what_cannot_be_kept_or_shown_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.jsonl");
    let at = out.to_str().unwrap();
    json(&["cyclic", "--threads", "1", "--samples", "10", "--json", "--quiet", "--out", at], 0);
    let cases: &[(&[&str], &str)] = &[
        (&["cyclic", "--keep", "2s"], "--why"),
        (&["cyclic", "--why", "--keep", "1m"], "write `2s`, or `2s,20`"),
        (&["record", "--keep", "2h"], "`2h` is not a length up to 30s; write `2s`"),
        (&["cyclic", "--format", "perfetto"], "not while it is measured"),
        (&["show", at, "--format", "perfetto"], "record again with `--keep`"),
        (&["show", at, at, "--format", "perfetto"], "name one recording"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let message = stderr(&output);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let output =
        howlate(&["cyclic", "--threads", "1", "--samples", "10", "--why", "--keep", "1s", "--quiet"])
            .args(["--json", "--no-save"])
            .output()
            .unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"timelines_without_file\""));
}
