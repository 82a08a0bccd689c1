//! `--until`: runs that go on until a figure is known.

use crate::common::{howlate, json, run, stderr, stdout};
use serde_json::Value;

/// Every wake-up is later than 1 ns, so that each spell of 2.5 s is followed by another.
const REFUTED: [&str; 8] =
    ["cyclic", "--threads", "1", "--until", "max<1ns: 1 per 20s", "--at-most", "5m", "--no-save"];

#[test]
fn what_is_refuted_ends_the_run_and_is_shown_as_it_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let path = path.to_str().unwrap();
    let live = json(&[&REFUTED[..], &["--json", "--out", path]].concat(), 1);
    let until = &live["until"];
    assert_eq!((&until["decision"], &until["figure"]), (&"refuted".into(), &"max<1ns: 1 per 20s".into()));
    // Four spells within 12.6 s: see `howlate plan-length`.
    assert!(until["events"].as_u64().unwrap() >= 4, "{until}");
    assert!(until["interval"]["low"].as_f64().unwrap() >= 180.0, "1 per 20 s is 180 per hour: {until}");
    assert_eq!((live["ended"].as_str(), until["confidence"].as_f64()), (Some("done"), Some(0.95)));
    // It ends with the block that decided, or soon after, not with the time limit.
    let (count, decided) = (&live["results"][0]["planned"], &until["covered_ns"]);
    assert!(count.as_u64().unwrap() < decided.as_u64().unwrap() / 1_000_000 + 5_000, "{count} {decided}");
    assert_eq!(&live["results"][0]["until"]["decision"], until["decision"].as_str().unwrap());
    let shown: Value = serde_json::from_slice(&run(&["show", path, "--json"]).stdout).unwrap();
    assert_eq!(&shown["until"], until);
    let text = stdout(&run(&["show", path]));
    assert!(text.contains("`max<1ns: 1 per 20s` is refuted: exceeded"), "{text}");
    // The answer is the end of the output, which stays visible.
    let place = text.lines().position(|line| line.contains("is refuted")).unwrap();
    assert!(text.lines().count() - place <= 4, "{text}");
    let page = stdout(&run(&["report", path, "--format", "html", "-o", "-"]));
    assert!(page.contains("is refuted: exceeded"), "{page}");
}

#[test]
fn it_says_at_the_start_how_long_it_takes() {
    let output = howlate(&REFUTED).output().unwrap();
    let message = stderr(&output).replace('\n', " ");
    assert!(
        message.contains("Until `max<1ns: 1 per 20s` is decided, at most 5 min 00 s. To hold it takes at least 1 min 11 s; it can be refuted sooner."),
        "{message}"
    );
}

/// The interval cannot be as narrow as a few nanoseconds.
#[test]
fn what_is_not_known_in_time_is_undecided() {
    let arguments =
        ["cyclic", "--threads", "1", "--period", "100us", "--until", "p50 ±2ns", "--at-most", "3s"];
    let live = json(&[&arguments[..], &["--no-save", "--json"]].concat(), 3);
    assert_eq!(live["until"]["decision"], "undecided");
    assert!(live["until"]["covered_ns"].as_u64() > Some(1_000_000_000), "{}", live["until"]);
}

/// Such a wide interval is always reached, if the median can be estimated at all.
#[test]
fn a_percentile_is_looked_at_twice_at_least() {
    let arguments =
        ["sleep", "--for", "100us", "--until", "p50 ±1000%", "--at-most", "15s", "--no-save", "--json"];
    let output = run(&arguments);
    let live: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (decision, looked) = (live["until"]["decision"].as_str(), live["until"]["looked"].as_u64());
    match output.status.code() {
        Some(0) => assert!(decision == Some("reached") && looked >= Some(2), "{}", live["until"]),
        other => assert_eq!((other, decision), (Some(3), Some("undecided")), "{}", stderr(&output)),
    }
}

#[test]
fn notifications_go_on_until_something_is_known_too() {
    let arguments = [
        "notify",
        "--mechanism",
        "pipe",
        "--after",
        "1ms",
        "--until",
        "max<1ns: 1 per 20s",
        "--at-most",
        "5m",
    ];
    let live = json(&[&arguments[..], &["--no-save", "--json"]].concat(), 1);
    assert_eq!(live["until"]["decision"], "refuted");
}

#[test]
fn two_conditions_take_turns_until_they_are_told_apart_or_the_time_is_over() {
    let compared = ["cyclic", "--threads", "1", "--policy", "other,nice:19", "--load", "cpu", "--until"];
    let output =
        run(&[&compared[..], &["compare decided", "--at-most", "24s", "--no-save", "--json"]].concat());
    let live: Value = serde_json::from_slice(&output.stdout).unwrap();
    let until = &live["until"];
    match output.status.code() {
        Some(0) => assert!(until["decision"] == "reached" && until["pairs"].as_u64() >= Some(8), "{until}"),
        other => assert_eq!((other, &until["decision"]), (Some(3), &"undecided".into()), "{until}"),
    }
}

#[test]
fn what_cannot_be_known_is_refused_with_what_it_takes() {
    for (arguments, says) in [
        (
            &["p99.999 ±5%", "--at-most", "1h"][..],
            "takes at least 2 h 05 min, and the run may take 1 h 00 min",
        ),
        (&["p99.999 ±5%", "--policy", "other,batch", "--at-most", "4h"], "at least 4 h 10 min"),
        (&["max<100us: 10 per second"], "cannot be counted"),
        (&["p99 ±1%"], "to ±2 %"),
        (&["compare decided"], "about two conditions; this run has 1"),
        (&["p99 ±5%", "--duration", "3s"], "cannot be used with"),
        (&["soon"], "`max<100us: 1 per hour`"),
    ] {
        let output = run(&[&["cyclic", "--threads", "1", "--until"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
    let guest = run(&["guest", "--kernel", "host", "--", "cyclic", "--until", "p99 ±5%"]);
    assert!(stderr(&guest).contains("`--until` cannot be used in a guest"), "{}", stderr(&guest));
    let tune = run(&["tune", "cyclic", "--until", "p99 ±5%"]);
    assert!(stderr(&tune).contains("--until is not for `howlate tune`"), "{}", stderr(&tune));
}

#[test]
fn lengths_are_said_beforehand() {
    let plan_length = |figure: &str| stdout(&run(&["plan-length", figure]));
    let hourly = plan_length("max<100us: 1 per hour").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        hourly.contains("of each condition: to hold it takes at least 3 h 35 min; it can be refuted sooner."),
        "{hourly}"
    );
    assert!(hourly.contains("holds after 6 h 33 min if it is exceeded once"), "{hourly}");
    assert!(hourly.contains("howlate cyclic --until 'max<100us: 1 per hour'"), "{hourly}");
    assert!(plan_length("p99.9 ±5%").contains("at least 75 001 wake-ups of each condition: 1 min 15 s"));
    let refused = run(&["plan-length", "max<1ms: 1 per second"]);
    assert_eq!(refused.status.code(), Some(2));
}
