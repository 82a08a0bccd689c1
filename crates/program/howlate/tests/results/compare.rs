//! `howlate compare`, with recordings of a real machine and live.

use std::process::Output;

use crate::common::{howlate, json, run, stderr, stdout, values};
use serde_json::Value;

const POLICIES: [&str; 4] = ["compare", "policies.jsonl", "--by", "policy"];
const IDLE: [&str; 3] = ["compare", "idle-before.jsonl", "idle-after.jsonl"];

/// Runs the command in the folder of the recordings, so that paths are the same everywhere.
fn compare(arguments: &[&[&str]]) -> Output {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    howlate(&arguments.concat()).current_dir(folder).output().unwrap()
}

#[track_caller]
fn compare_json(arguments: &[&[&str]], status: i32) -> Value {
    let output = compare(&[&arguments.concat(), &["--format", "json"]]);
    assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_format_of_conditions_that_took_turns() {
    for format in values("compare", "--format") {
        let output = compare(&[&POLICIES, &["--format", &format]]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        insta::assert_snapshot!(format!("policies-{format}"), stdout(&output));
    }
}

#[test]
fn every_format_of_two_recordings() {
    for format in values("compare", "--format") {
        let output = compare(&[&IDLE, &["--format", &format]]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        insta::assert_snapshot!(format!("idle-{format}"), stdout(&output));
    }
}

/// One row per pair of conditions; no table for one pair. With `--details`, all numbers.
#[test]
fn all_pairs_of_conditions_stand_in_one_table() {
    let shown = |command_line: &[&str]| stdout(&compare(&[command_line]));
    let sections =
        |text: &str| text.lines().filter(|line| line.starts_with("mechanism pipe → futex")).count();
    let text = shown(&["compare", "notify.jsonl", "--by", "mechanism"]);
    let rows = text.lines().filter(|line| line.trim_start().starts_with("futex · CPU")).count();
    assert!(text.contains("Summary") && rows > 1 && sections(&text) == 0, "{text}");
    let full = shown(&["compare", "notify.jsonl", "--by", "mechanism", "--details"]);
    assert!(sections(&full) == rows && full.contains("The maximum"), "{full}");
    assert!(!shown(&POLICIES).contains("Summary") && !shown(&POLICIES).contains("The maximum"));
    let markdown = shown(&["compare", "notify.jsonl", "--by", "mechanism", "--format", "md"]);
    let first = markdown.lines().find(|line| line.starts_with('|')).unwrap();
    assert_eq!(first, "|  | median | max of a turn |");
}

/// The verdict is at the end, doubts precede the numbers, and everything fits one and a half screens.
#[test]
fn the_answer_is_on_the_last_screen() {
    for command_line in [&POLICIES[..], &IDLE, &["compare", "notify.jsonl", "--by", "mechanism"]] {
        let text = stdout(&compare(&[command_line]));
        let lines: Vec<&str> = text.lines().collect();
        let is_answer = |line: &&str| {
            ["Better: ", "Worse: ", "No difference found", "Inconclusive: "]
                .iter()
                .any(|word| line.starts_with(word))
        };
        let answer = lines.iter().position(is_answer).unwrap_or_else(|| panic!("{text}"));
        assert!(lines.len() <= 40 && lines.len() - answer <= 24, "{} lines: {text}", lines.len());
        let doubt = text.find("busy before this began");
        let table = text.find("median").unwrap();
        assert!(doubt.is_none_or(|doubt| doubt < table), "{text}");
    }
}

/// The figure that the run was made for, with its interval and condition, rather than the one that changed most.
#[test]
fn the_answer_is_about_p99_or_what_was_limited_and_names_the_condition() {
    let folder = tempfile::tempdir().unwrap();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/policies.jsonl");
    let recording = std::fs::read_to_string(recording).unwrap();
    let answer = |options: &str| {
        let path = folder.path().join("limited.jsonl");
        std::fs::write(&path, recording.replacen("[\"cyclic\"", &format!("[\"cyclic\"{options}"), 1))
            .unwrap();
        let output = run(&["compare", path.to_str().unwrap(), "--by", "policy", "--format", "json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["answer"].as_str().unwrap().to_owned()
    };
    let usual = answer("");
    assert!(
        usual.starts_with("Better: p99 is 22.8 ms lower (−99 %; interval −65.5 ms … −4.92 ms): "),
        "{usual}"
    );
    assert!(usual.contains("policy other → fifo:80") && usual.ends_with("load cpu."), "{usual}");
    for (options, number) in [
        (",\"--fail-above\",\"p50>9ms\"", "median"),
        (",\"--fail-above=max>9ms,p50>9ms\"", "max of a turn"),
        (",\"--fail-above\",\"missed>9\"", "p99"),
    ] {
        let answer = answer(options);
        assert!(answer.starts_with(&format!("Better: {number} is ")), "{options}: {answer}");
    }
}

/// A worse result is final, and texts about several pairs mention only columns of the table.
#[test]
fn what_is_said_fits_what_is_shown() {
    let worse = stdout(&compare(&[&POLICIES, &["--base", "fifo:80"]]));
    assert!(worse.contains("Worse: ") && !worse.contains("To settle it"), "{worse}");
    let several = stdout(&compare(&[&["compare", "notify.jsonl", "--by", "mechanism"]]));
    assert!(!several.contains("\"detectable\" column"), "{several}");
    for text in [&worse, &stdout(&compare(&[&IDLE]))] {
        assert!(text.contains("p99 of a ") && text.contains("median of a "), "{text}");
    }
}

/// `--json` is short for `--format json`, also of `why`.
#[test]
fn json_is_short_for_the_format() {
    let long = compare(&[&POLICIES, &["--format", "json"]]);
    assert_eq!(stdout(&compare(&[&POLICIES, &["--json"]])), stdout(&long));
    let why = compare(&[&["why", "why.jsonl", "--json"]]);
    assert_eq!(stdout(&why), stdout(&compare(&[&["show", "why.jsonl", "--json"]])));
}

/// A column rises while the difference between segments falls: the text says which was tested.
#[test]
fn columns_that_contradict_the_difference_are_explained() {
    let text = stdout(&compare(&[&IDLE])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("p99: the two typical values are +")
            && text.contains("By stretches, the difference is"),
        "{text}"
    );
    let json = compare_json(&[&IDLE], 0);
    let percent = json["compared"][0]["percent"].as_array().unwrap();
    let disagree: Vec<bool> =
        percent.iter().map(|statistic| statistic["sides_disagree"].as_bool().unwrap()).collect();
    assert!(disagree[1], "{percent:?}");
    assert!(!stdout(&compare(&[&POLICIES])).contains("typical values are"));
}

#[test]
fn no_interval_is_no_line_in_junit() {
    let output = compare(&[&["compare", "notify.jsonl", "--by", "mechanism", "--format", "junit"]]);
    let junit = stdout(&output);
    assert!(junit.contains("classname=\"howlate.compare\"") && !junit.contains("interval – µs"), "{junit}");
}

#[test]
fn what_is_better_one_way_is_worse_the_other_way() {
    let there = compare_json(&[&POLICIES], 0);
    let back = compare_json(&[&POLICIES, &["--base", "fifo:80"]], 1);
    let numbers = |value: &Value| -> Vec<(String, f64, f64)> {
        let statistics = value["compared"][0]["statistics"].as_array().unwrap();
        let verdicts = |value: &Value| {
            let number = |name: &str| value[name].as_f64().unwrap();
            (value["verdict"].as_str().unwrap().to_owned(), number("difference_ns"), number("p"))
        };
        statistics.iter().map(verdicts).collect()
    };
    assert_eq!((&there["verdict"], &back["verdict"]), (&"better".into(), &"worse".into()));
    for (there, back) in numbers(&there).iter().zip(numbers(&back)) {
        assert_eq!((there.0.as_str(), back.0.as_str()), ("better", "worse"));
        assert!((there.1 + back.1).abs() < 1.0 && (there.2 - back.2).abs() < 1e-12);
    }
    assert_eq!(there["compared"][0]["design"], "interleaved");
}

#[test]
fn a_recording_is_not_told_apart_from_itself_and_equivalent_within_a_wide_margin() {
    let itself = ["compare", "idle-after.jsonl", "idle-after.jsonl"];
    assert_eq!(compare_json(&[&itself], 0)["verdict"], "not_distinguishable");
    assert_eq!(compare_json(&[&itself, &["--margin", "1s"]], 0)["verdict"], "equivalent");
    let message = stdout(&compare(&[&itself])).replace('\n', " ");
    assert!(message.contains("idle-after.jsonl and idle-after.jsonl are the same recording"), "{message}");
    let other_text = stdout(&compare(&[&["compare", "idle-before.jsonl", "idle-after.jsonl"]]));
    assert!(!other_text.contains("the same recording"), "{other_text}");
    let narrow = compare_json(&[&itself, &["--margin", "1ns"]], 3);
    let share = compare_json(&[&itself, &["--margin", "900%"]], 0);
    assert_eq!((&share["verdict"], &share["margin_percent"]), (&"equivalent".into(), &900.0.into()));
    assert_eq!(compare_json(&[&itself, &["--margin", "0.001%"]], 3)["verdict"], "inconclusive");
    assert!(share.get("margin_ns").is_none(), "a share of each number is no length");
    assert_eq!(narrow["verdict"], "inconclusive");
    assert_eq!(narrow["compared"][0]["statistics"][0]["reason"], "wider_than_margin");
}

#[test]
fn too_little_is_inconclusive_and_says_how_much_it_takes() {
    // Two rounds of two policies.
    let output = compare(&[&["compare", "cyclic.jsonl", "--by", "policy"]]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let message = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let command = "To settle it, `howlate cyclic --policy other,fifo:80 --rounds ";
    assert!(message.contains(command) && message.matches("--rounds").count() == 1, "{message}");
    // The suggested number of rounds is the one that can show a difference.
    let (_, needed) = message.split_once("cannot show any difference at this confidence; ").unwrap();
    let (needed, _) = needed.split_once(" can.").unwrap();
    assert!(message.contains(&format!("{command}{needed} --duration ")), "{message}");
    let strict = compare(&[&POLICIES, &["--confidence", "99.9"]]);
    assert_eq!(strict.status.code(), Some(3), "ten pairs have no p below 0.00195");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_type() {
    for (arguments, says) in [
        (&["compare", "cyclic.jsonl"][..], "or `--by policy` to compare its conditions"),
        (&["compare", "policies.jsonl", "--by", "load"], "they differ in policy"),
        (&["compare", "policies.jsonl", "--by", "polcy"], "choose from node, kernel, host-load"),
        (
            &["compare", "policies.jsonl", "--by", "policy", "--base", "rr:1"],
            "policy is one of other, fifo:80",
        ),
        (&["compare", "cyclic.jsonl", "sleep.jsonl", "--by", "policy"], "found 2"),
        (&["compare", "cyclic.jsonl", "policies.jsonl", "--confidence", "0.95"], "write per cent from 50"),
        (&["compare", "cyclic.jsonl", "no-such.jsonl"], "cannot read"),
        (&["compare"], "RECORDING"),
        (&["compare", "--self-test", "--", "--period", "5"], "`5` has no unit"),
        (&["compare", "cyclic.jsonl", "idle-after.jsonl", "--duration", "1s"], "cannot be used with"),
    ] {
        let output = compare(&[arguments]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?} says: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

/// Two short runs of the same conditions give some verdict on any machine.
#[test]
fn two_idle_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["a.jsonl", "b.jsonl"] {
        let run = run(&["cyclic", "--threads", "1", "--duration", "12s", "--quiet", "--out", &path(name)]);
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    }
    let output = run(&["compare", &path("a.jsonl"), &path("b.jsonl"), "--format", "json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = match found["verdict"].as_str().unwrap() {
        "worse" => 1,
        "inconclusive" => 3,
        _ => 0,
    };
    assert_eq!(output.status.code(), Some(expected));
    let units = found["compared"][0]["statistics"][0]["units"].clone();
    assert!(units[0].as_u64().unwrap() >= 5 && units[1].as_u64().unwrap() >= 5, "{units}");
    assert_eq!(found["compared"][0]["base_maximum"]["count"], json_count(&path("a.jsonl")));
}

fn json_count(path: &str) -> Value {
    let shown = json(&["show", "--format", "json", path], 0);
    let result = &shown["results"][0];
    // A missed period counts as a late wake-up.
    (result["count"].as_u64().unwrap() + result["missed_periods"].as_u64().unwrap()).into()
}

#[test]
fn a_condition_is_compared_with_itself() {
    let test = json(&["compare", "--self-test", "--duration", "2s", "--format", "json", "--", "--quiet"], 0);
    let alarms = test["false_alarms"].as_array().unwrap();
    assert_eq!(alarms[0]["statistic"], "p50");
    let share = &alarms[0]["interleaved"];
    assert!(share["of"].as_u64().unwrap() >= 1 && share["found"].as_u64() <= share["of"].as_u64(), "{test}");
}
