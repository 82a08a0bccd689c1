//! Without privileges everything runs, and reports what privileges would add.

use crate::common::{ForAnyone, has_caveat, stderr, stdout};
use serde_json::Value;

#[test]
fn a_refused_policy_is_measured_without_and_says_what_would_help() {
    let place = ForAnyone::new();
    let output = place
        .howlate(&[
            "cyclic",
            "--threads",
            "1",
            "--policy",
            "other,fifo:80,nice:-20",
            "--samples",
            "10",
            "--json",
        ])
        .output()
        .unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for result in result["results"].as_array().unwrap() {
        assert_eq!(result["count"], 10);
    }
    if result["results"][1]["in_force"]["policy"] == "fifo" {
        return crate::common::skip("this user may use real-time priorities");
    }
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let refused = &result["results"][1]["caveats"][0];
    assert_eq!(refused["caveat"], "policy_refused");
    assert_eq!((&refused["asked"], &refused["in_force"]), (&"fifo:80".into(), &"other".into()));
    assert!(!refused["remedy"].as_str().unwrap().is_empty());
    assert!(refused["text"].as_str().unwrap().contains("was refused"));
}

#[test]
fn normal_work_needs_no_privilege() {
    let place = ForAnyone::new();
    let output =
        place.howlate(&["sleep", "--for", "1ms", "--samples", "10", "--out", "mine.jsonl"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("clock_nanosleep · other"), "{}", stdout(&output));
    assert!(place.folder.path().join("mine.jsonl").exists());
}

#[test]
fn doctor_needs_no_privilege() {
    let place = ForAnyone::new();
    let output = place.howlate(&["doctor", "--json"]).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!result["findings"].as_array().unwrap().is_empty());
}

#[test]
fn the_quick_look_runs_for_anyone_and_saves_a_recording() {
    let place = ForAnyone::new();
    let output = place.howlate(&[]).output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for says in ["normal scheduling", "all CPUs busy", "howlate show --details"] {
        assert!(text.contains(says), "{says} is not in: {text}");
    }
    // The first words are about the machine and the last about what to do next, not about missing permissions.
    assert!(!text.contains("not locked") && !text.contains("could not be tried"), "{text}");
    assert!(
        text.trim_end()
            .ends_with("`sudo howlate` also tries real-time priority, and says who took the time."),
        "{text}"
    );
    let shown = place.howlate(&["show", "--format", "json"]).output().unwrap();
    let result: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(result["command"], "quick");
    assert!(!has_caveat(&result, "samples_lost"));
}
