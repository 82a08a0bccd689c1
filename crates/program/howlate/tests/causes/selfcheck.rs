//! Known causes, injected and found. No durations of the machine are asserted.

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

/// A class has a result, or the reason why it has none.
fn has_result(class: &Value) -> bool {
    let number = |name: &str| class[name].as_u64().unwrap();
    match class["result"].as_str().unwrap() {
        "not_made" => !class["reason"].as_str().unwrap().is_empty(),
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
    // On a busy machine a class may be missed; other tests check the results in detail.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", stderr(&output));
    let check: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = classes(&check).iter().map(|class| class["class"].as_str().unwrap()).collect();
    assert_eq!(names, CLASSES, "none is dropped");
    for class in classes(&check) {
        assert!(has_result(class), "{class}");
        if class["result"] == "not_made" {
            skip(&format!("{}: {}", class["class"], class["reason"]));
            continue;
        }
        assert_eq!(class["not_adding_up"], 0, "the parts of a wake-up are all of its lateness: {class}");
        assert!(class["result"] == "too_few" || class["found"].as_u64() > Some(0), "{class}");
    }
    let left = std::fs::read_dir("/sys/fs/cgroup/cpu").into_iter().flatten().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("howlate-selfcheck"));
    assert_eq!(left.count(), 0, "no control group is left");
}

/// Effects of the measured thread on itself occur on any machine.
#[test]
fn what_a_thread_does_to_itself_is_found() {
    let _alone = alone();
    let arguments = ["selfcheck", "--for", "page_fault,late_arming", "--duration", "3s", "--json", "--quiet"];
    let output = run(&arguments);
    let check: Value = serde_json::from_slice(&output.stdout).unwrap();
    if check["tracer"] != "bpf" {
        return skip("there is no tracer that sees the ways of the kernel");
    }
    for class in classes(&check) {
        // Preemption between the thread's time stamps belongs to other threads.
        let number = |name: &str| class[name].as_u64().unwrap();
        assert!(number("hits") >= 100 && number("found") * 4 >= number("hits") * 3, "{class}");
    }
}

#[test]
fn without_a_tracer_nothing_is_judged() {
    let check = json(&["selfcheck", "--tracer", "none", "--json", "--quiet"], 3);
    assert_eq!(classes(&check).len(), CLASSES.len());
    for class in classes(&check) {
        assert_eq!(
            (&class["result"], &class["reason"]),
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
