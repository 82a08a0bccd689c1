//! The questions of `docs/json.md` get answers from a recording, and answers keep their size.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{assert_valid, howlate, is_installed, skip, stderr, stdout};

const PAGE: &str = include_str!("../../../../../docs/json.md");
/// Has causes, worst wake-ups and load.
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/why.jsonl");
/// What `--json` prints at most.
const ANSWER_BYTES: usize = 64 * 1024;

/// The commands of the page for a recording: arguments of howlate, and the query.
fn questions() -> Vec<(Vec<&'static str>, &'static str)> {
    let commands = PAGE.lines().filter_map(|line| line.trim().strip_prefix("howlate "));
    let of_recordings = commands.filter(|line| line.contains("run.jsonl"));
    let question = |line: &'static str| {
        let (command, query) = line.split_once(" | jq ").unwrap();
        let arguments = command
            .split(' ')
            .map(|word| if word == "run.jsonl" { RECORDING } else { word.trim_matches('\'') });
        (arguments.collect(), query)
    };
    of_recordings.map(question).collect()
}

#[test]
fn each_question_of_the_page_is_answered() {
    if !is_installed("jq") {
        return skip("jq is not installed");
    }
    let questions = questions();
    assert_eq!(questions.len(), 10);
    for (arguments, query) in questions {
        let document = howlate(&arguments).output().unwrap().stdout;
        // The page's own quotes and options: by a shell, as it would be typed.
        let mut jq = Command::new("sh");
        jq.arg("-c")
            .arg(format!("jq {query}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut jq = jq.spawn().unwrap();
        jq.stdin.take().unwrap().write_all(&document).unwrap();
        let answer = jq.wait_with_output().unwrap();
        assert!(answer.status.success(), "{query}: {}", stderr(&answer));
        let answer = stdout(&answer);
        let is_answer = |line: &str| !["", "null", "[null,null]"].contains(&line);
        assert!(answer.lines().any(is_answer), "{query}: {answer}");
    }
}

/// Several recordings, one of them with a guest: 140 kB.
#[test]
fn a_long_answer_is_cut_and_says_by_how_much() {
    let recordings = ["why", "guest", "watch"];
    let names = recordings.map(|name| RECORDING.replace("why.jsonl", &format!("{name}.jsonl")));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let print = |options: &[&str]| {
        let output = howlate(&[&["show", "--json"], options, &names].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_valid(&document, "result");
        (text, document)
    };
    let ((short_text, short), (long_text, long)) = (print(&[]), print(&["--details"]));
    assert!(short_text.len() <= ANSWER_BYTES, "{}", short_text.len());
    assert!(long_text.len() > 2 * ANSWER_BYTES, "{}", long_text.len());
    assert!(long.get("omitted").is_none());
    assert_eq!(entries(&short, "recordings"), recordings.len());
    assert_eq!(
        short["recordings"][0]["results"][0]["latency_ns"],
        long["recordings"][0]["results"][0]["latency_ns"]
    );
    for (name, missing) in short["omitted"].as_object().unwrap() {
        let kept = entries(&short, name) as u64;
        assert_eq!(kept + missing.as_u64().unwrap(), entries(&long, name) as u64, "{name}");
    }
}

/// Entries of all lists to which these names lead.
fn entries(document: &Value, names: &str) -> usize {
    let Some((name, rest)) = names.split_once('.') else {
        return document[names].as_array().map_or(0, Vec::len);
    };
    match &document[name] {
        Value::Array(list) => list.iter().map(|entry| entries(entry, rest)).sum(),
        other => entries(other, rest),
    }
}
