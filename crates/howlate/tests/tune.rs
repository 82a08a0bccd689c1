//! `howlate tune`: what is listed, what is found where the effect is large, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{json, run, stderr, stdout};
use serde_json::Value;

/// The row of a setting.
#[track_caller]
fn knob<'a>(result: &'a Value, name: &str) -> &'a Value {
    let rows = result["knobs"].as_array().unwrap();
    rows.iter().find(|row| row["knob"] == name).unwrap_or_else(|| panic!("no row of {name}: {result}"))
}

#[test]
fn every_setting_is_listed_with_its_state_and_nothing_is_measured() {
    let listed = json(&["tune", "--knobs", "all", "--dry-run", "--json"], 0);
    let rows = listed["knobs"].as_array().unwrap();
    assert!(rows.len() > 35, "{}", rows.len());
    for row in rows {
        let status = row["status"].as_str().unwrap();
        let known = ["ready", "in_force", "absent", "not_permitted", "boot_only", "not_tried"];
        assert!(known.contains(&status), "{row}");
        assert_eq!(status == "ready", row["reason"].is_null(), "{row}");
    }
    assert_eq!(knob(&listed, "mitigations")["scope"], "boot");
    let text = stdout(&run(&["tune", "sleep", "--for", "1ms", "--dry-run"]));
    assert!(text.contains("for 1 ms") && text.contains("nothing was changed"), "{text}");
    assert!(text.contains("it was not asked for"), "settings of the machine are not asked for by default");
}

#[test]
fn what_would_be_written_is_what_the_machine_has_now() {
    let listed = json(&["tune", "--knobs", "machine", "--dry-run", "--json"], 0);
    for row in listed["knobs"].as_array().unwrap() {
        for write in row["writes"].as_array().unwrap().iter().filter(|_| row["scope"] == "machine") {
            let path = write["path"].as_str().unwrap();
            // Some files show a choice with the one that is chosen marked.
            let now = write["now"].as_str().unwrap();
            let holds = std::fs::read_to_string(path).is_ok_and(|text| text.contains(now));
            assert!(holds || path.starts_with("/dev/"), "{path}: {now}");
        }
    }
}

/// An effect as large as the slack itself.
#[test]
fn timer_slack_is_found_and_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("tune.jsonl");
    let out = recording.to_str().unwrap();
    // A slack of 5 ms is larger than what a busy machine adds by chance.
    let asked = [
        "tune",
        "sleep",
        "--for",
        "1ms",
        "--slack",
        "5ms",
        "--knobs",
        "timer_slack,nothing",
        "--goal",
        "p50",
    ];
    let more = ["--samples", "20", "--budget", "1m", "--quiet", "--json", "--out", out];
    let output = run(&[&asked[..], &more[..]].concat());
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    // On a machine that is too busy it says so: no turns in that time, or an effect of that size could not have been seen.
    if let Some(needed) = result["needs_budget_ns"].as_u64() {
        return assert!(needed > 60_000_000_000, "{result}");
    }
    let slack = &knob(&result, "timer_slack")["differences"]["p50"];
    for of in [slack, &result["confirmed"]["p50"]] {
        if of["verdict"] != "better" {
            return assert!(of["detectable_ns"].as_f64().is_none_or(|ns| ns > 4e6), "{result}");
        }
    }
    assert!(slack["difference_ns"].as_f64().unwrap() < 0.0);
    let recommended = result["recommended"].as_array().unwrap();
    assert!(recommended.contains(&Value::from("timer_slack")), "{result}");
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.contains("timer_slack") && answer.contains("the median falls"), "{answer}");
    let compared = json(&["compare", "--by", "knob", "--format", "json", out], 0);
    let sides: Vec<&str> = compared["compared"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["differs"][0]["new"].as_str().unwrap())
        .collect();
    assert_eq!(sides, ["nothing", "timer_slack"]);
    for format in ["text", "json"] {
        assert_eq!(run(&["show", "--format", format, out]).status.code(), Some(0));
    }
}

#[test]
fn a_budget_that_is_too_short_says_how_long_it_has_to_be() {
    let asked = [
        "tune",
        "sleep",
        "--for",
        "1ms",
        "--samples",
        "20",
        "--knobs",
        "nothing",
        "--budget",
        "1us",
        "--quiet",
    ];
    let output = run(&asked);
    assert_eq!(output.status.code(), Some(3));
    let text = stdout(&output);
    assert!(text.contains("The budget is too short to tell anything: write `--budget "), "{text}");
}

#[test]
fn what_cannot_be_tried_is_refused_with_what_to_type() {
    for (words, expected) in [
        (&["tune", "sleep"][..], "settings are tried on one condition"),
        (&["tune", "--knobs", "timerslack"], "did you mean `timer_slack`?"),
        (&["tune", "--why"], "--why is not for `howlate tune`"),
        (&["tune", "sleep", "--for", "1ms", "--rounds", "3"], "`--budget` says how long it may take"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(expected), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn real_time_threads_have_no_slack_to_try() {
    let listed = json(&["tune", "cyclic", "--policy", "fifo:80", "--dry-run", "--json"], 0);
    let slack = knob(&listed, "timer_slack");
    let known = ["absent", "in_force"];
    assert!(known.contains(&slack["status"].as_str().unwrap()), "{slack}");
    assert_eq!(knob(&listed, "slice")["status"], "absent");
    assert_ne!(knob(&listed, "fifo")["status"], "ready");
}
