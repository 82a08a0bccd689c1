//! Known causes, made for real and looked for. No test here asserts a duration of the machine's making.

use crate::alone;
use crate::common::{json, run, skip, stderr};
use serde_json::Value;

const CLASSES: [&str; 10] = [
    "thread",
    "competitors",
    "stopped",
    "throttled",
    "other_timers",
    "softirq",
    "page_fault",
    "timer_slack",
    "late_arming",
    "machine_stopped",
];

fn classes(check: &Value) -> &Vec<Value> {
    check["classes"].as_array().unwrap()
}

/// A class is judged, or there is a reason why not.
fn is_told(one: &Value) -> bool {
    let number = |name: &str| one[name].as_u64().unwrap();
    match one["result"].as_str().unwrap() {
        "not_made" => !one["reason"].as_str().unwrap().is_empty(),
        _ => {
            number("found") + number("blamed_wrongly") + number("not_seen") <= number("hits")
                && number("decomposed") <= number("wakeups")
                && number("named_ns") <= number("late_ns")
        }
    }
}

#[test]
fn every_class_is_made_and_found_or_said() {
    let _alone = alone();
    let output = run(&["selfcheck", "--duration", "700ms", "--json", "--quiet"]);
    // On a busy machine a class may be missed; what is right has its own checks below.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", stderr(&output));
    let check: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = classes(&check).iter().map(|one| one["class"].as_str().unwrap()).collect();
    assert_eq!(names, CLASSES, "none is dropped");
    for one in classes(&check) {
        assert!(is_told(one), "{one}");
        if one["result"] == "not_made" {
            skip(&format!("{}: {}", one["class"], one["reason"]));
            continue;
        }
        assert_eq!(one["not_adding_up"], 0, "the parts of a wake-up are all of its lateness: {one}");
        assert!(one["result"] == "too_few" || one["found"].as_u64() > Some(0), "{one}");
    }
    let left = std::fs::read_dir("/sys/fs/cgroup/cpu").into_iter().flatten().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("howlate-selfcheck"));
    assert_eq!(left.count(), 0, "no control group is left");
}

/// What the measured thread does to itself happens on any machine, however busy.
#[test]
fn what_a_thread_does_to_itself_is_found() {
    let _alone = alone();
    let asked = ["selfcheck", "--for", "page_fault,late_arming", "--duration", "3s", "--json", "--quiet"];
    let output = run(&asked);
    let check: Value = serde_json::from_slice(&output.stdout).unwrap();
    if check["tracer"] != "bpf" {
        return skip("there is no tracer that sees the ways of the kernel");
    }
    for one in classes(&check) {
        // Others may have the CPU within what the thread stamps, so that not all of it is its own doing.
        let number = |name: &str| one[name].as_u64().unwrap();
        assert!(number("hits") >= 100 && number("found") * 4 >= number("hits") * 3, "{one}");
    }
}

#[test]
fn without_a_tracer_nothing_is_judged() {
    let check = json(&["selfcheck", "--tracer", "none", "--json", "--quiet"], 3);
    assert_eq!(classes(&check).len(), CLASSES.len());
    for one in classes(&check) {
        assert_eq!(
            (&one["result"], &one["reason"]),
            (&"not_made".into(), &"there is no tracer to check".into())
        );
    }
}

#[test]
fn a_cause_that_there_is_not_is_refused() {
    let output = run(&["selfcheck", "--for", "sunspots"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("late_arming"), "{}", stderr(&output));
}
