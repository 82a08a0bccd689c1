//! `howlate tune program`: settings of another process's threads are changed from outside, and restored.

use std::process::{Child, Output, Stdio};

use crate::common::{
    OwnSettings, assert_valid, has_bpf, howlate, json, run, send, skip, stderr, stdout, threads, wait_until,
};
use crate::tune::knob;
use rustix::process::Signal;
use serde_json::Value;

/// A program that sleeps for 1 ms repeatedly; killed on drop.
struct SleepingTarget(Child);

impl SleepingTarget {
    fn start() -> Self {
        let mut sleeper = howlate(&SLEEPS);
        sleeper.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        let sleeper = Self(sleeper.spawn().unwrap());
        wait_until("a thread that sleeps", || sleeper.threads().len() > 1);
        sleeper
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn threads(&self) -> Vec<u32> {
        threads(self.0.id())
    }
}

impl Drop for SleepingTarget {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The program to tune: any program that sleeps would do.
const SLEEPS: [&str; 8] = ["sleep", "--for", "1ms", "--duration", "1h", "--quiet", "--no-save", "--json"];

/// Options for the shortest turns that still give a result.
const SHORT: [&str; 9] =
    ["--goal", "p50", "--turn", "40ms", "--budget", "1h", "--quiet", "--json", "--no-save"];

/// Timer slack of each thread, as far as they still exist.
fn slacks(pid: u32) -> Vec<String> {
    let slack = |tid: &u32| std::fs::read_to_string(format!("/proc/{tid}/timerslack_ns")).ok();
    threads(pid).iter().filter_map(slack).map(|text| text.trim().to_owned()).collect()
}

/// The nice value of each thread: field 19 of `proc_pid_stat(5)`, 16 after the name.
fn nice_values(pid: u32) -> Vec<String> {
    let nice = |tid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(16).map(str::to_owned)
    };
    threads(pid).iter().filter_map(nice).collect()
}

fn all_are(values: &[String], expected: &str) -> bool {
    !values.is_empty() && values.iter().all(|value| value == expected)
}

/// A private journal; `None` where settings of other processes cannot be changed.
fn place() -> Option<OwnSettings> {
    let own = OwnSettings::new();
    if own.is_none() {
        skip("settings of another process need root");
    }
    own.filter(|_| has_bpf())
}

fn tune(own: &OwnSettings, arguments: &[&str]) -> Child {
    let mut command = own.howlate(&[&["tune"], arguments].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn result_of(output: &Output) -> Value {
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)));
    assert_valid(&result, "tune");
    result
}

#[test]
fn a_program_has_a_setting_for_its_turns_only_and_goes_on_as_it_was() {
    let Some(own) = place() else { return };
    let sleeper = SleepingTarget::start();
    let pid = sleeper.0.id();
    let before = slacks(pid).remove(0);
    let knobs = ["--knobs", "timer_slack,memory_lock,timerfd"];
    let child = tune(&own, &[&[sleeper.pid().as_str()], &knobs[..], &SHORT[..]].concat());
    wait_until("a turn with the setting", || all_are(&slacks(pid), "1"));
    wait_until("a turn without it", || all_are(&slacks(pid), &before));
    wait_until("another one", || all_are(&slacks(pid), "1"));
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert!(all_are(&slacks(pid), &before), "{}", stderr(&output));
    let result = result_of(&output);
    assert_eq!((output.status.code(), &result["restored"]), (Some(3), &Value::from(true)));
    let program = &result["program"];
    assert_eq!((&program["pid"], &program["name"]), (&Value::from(pid), &Value::from("howlate")));
    assert!(result["self_test"]["differences"].is_object(), "{result}");
    for name in ["memory_lock", "timerfd"] {
        assert_eq!(knob(&result, name)["status"], "not_tried", "{result}");
    }
    assert_eq!(knob(&result, "timer_slack")["to"], "1ns");
}

#[test]
fn its_recording_is_read_like_any_other() {
    let Some(own) = place() else { return };
    let out = own.run().join("tune.jsonl");
    let path = out.to_str().unwrap();
    let sleeper = SleepingTarget::start();
    let knobs = ["--knobs", "timer_slack", "--goal", "p50", "--turn", "40ms", "--budget", "1h"];
    let output = ["--quiet", "--json", "--out", path];
    let child = tune(&own, &[&[sleeper.pid().as_str()], &knobs[..], &output[..]].concat());
    let turns_with = || {
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("{\"finished\":{\"condition\":2,")).count()
    };
    wait_until("turns with the setting", || turns_with() > 5);
    send(child.id(), Signal::INT);
    result_of(&child.wait_with_output().unwrap());
    let text = stdout(&run(&["show", path]));
    for row in ["howlate with nothing", "howlate with timer_slack"] {
        assert!(text.contains(row), "each row has its setting: {text}");
    }
    let shown = json(&["show", "--json", path], 0);
    let with = |knob: &str| {
        let is_its = |value: &&Value| value["condition"]["tuned"]["knobs"][0] == knob;
        shown["results"].as_array().unwrap().iter().filter(is_its).count()
    };
    assert_eq!((with("timer_slack"), with("nothing")), (1, 1), "{shown}");
    let compared = run(&["compare", "--by", "knob", "--format", "json", path]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let pairs = compared["compared"].as_array().unwrap();
    let sides: Vec<&Value> = pairs.iter().map(|pair| &pair["differs"][0]["new"]).collect();
    assert_eq!(sides, ["nothing", "timer_slack"]);
    assert!(
        pairs[1]["statistics"].as_array().unwrap().iter().any(|statistic| statistic["statistic"] == "p50"),
        "{compared}"
    );
    let page = run(&["report", "--format", "md", path]);
    let page_text = stdout(&page);
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    assert!(page_text.contains("| timer\\_slack |"), "{page_text}");
}

#[test]
fn a_setting_of_the_machine_has_its_turns_of_a_program_too() {
    let Some(own) = place() else { return };
    let sleeper = SleepingTarget::start();
    let knobs = ["--knobs", "stat_interval,timer_slack", "--beside-tuners"];
    let child = tune(&own, &[&[sleeper.pid().as_str()], &knobs[..], &SHORT[..]].concat());
    own.wait_for("120");
    own.wait_for("1");
    own.wait_for("120");
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    let result = result_of(&output);
    assert_eq!((own.value().as_str(), &result["restored"]), ("1", &Value::from(true)), "{}", stderr(&output));
    let row = knob(&result, "stat_interval");
    assert_eq!((&row["from"], &row["to"], &row["scope"]), (&"1".into(), &"120".into(), &"machine".into()));
}

#[test]
fn when_the_program_ends_what_was_found_until_then_is_told() {
    let Some(own) = place() else { return };
    let program = env!("CARGO_BIN_EXE_howlate");
    let arguments = [&["--knobs", "timer_slack,nothing"], &SHORT[..], &["--", program], &SLEEPS[..]].concat();
    let child = tune(&own, &arguments);
    let mut started = None;
    wait_until("the program", || {
        let all = howlate_procfs::children(&howlate_procfs::Root::live(), child.id());
        started = all.into_iter().find(|pid| all_are(&slacks(*pid), "1"));
        started.is_some()
    });
    send(started.unwrap(), Signal::KILL);
    let output = child.wait_with_output().unwrap();
    let result = result_of(&output);
    // The program was killed: an error that follows the result.
    assert_eq!(output.status.code(), Some(2), "{result}");
    assert!(stderr(&output).contains("was ended by signal 9"), "{}", stderr(&output));
    assert!(result["answer"].as_str().unwrap().starts_with("The program ended"), "{result}");
    assert!(result["self_test"].is_object() && result["restored"] == true, "{result}");
}

#[test]
fn a_killed_howlate_leaves_the_program_as_it_was() {
    let Some(own) = place() else { return };
    let sleeper = SleepingTarget::start();
    let pid = sleeper.0.id();
    let before = nice_values(pid).remove(0);
    let mut child = tune(&own, &[&[sleeper.pid().as_str()], &["--knobs", "nice"][..], &SHORT[..]].concat());
    wait_until("a turn with the setting", || all_are(&nice_values(pid), "-20"));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("a program as it was", || all_are(&nice_values(pid), &before));
}

#[test]
fn what_cannot_be_tried_says_why_and_nothing_is_started_to_list_settings() {
    let listed = json(&["tune", "--dry-run", "--json", "--", "/no/such/program"], 0);
    assert_eq!(listed["baseline"]["name"], "/no/such/program");
    assert_eq!(knob(&listed, "memory_lock")["status"], "not_tried");
    let Some(own) = place() else { return };
    // Such a long period that the turns of a median exceed the budget.
    let seldom = [
        "--goal",
        "p50",
        "--budget",
        "2s",
        "--json",
        "--quiet",
        "--",
        "sh",
        "-c",
        "while sleep 0.02; do :; done",
    ];
    let output = tune(&own, &[&["--follow"], &seldom[..]].concat()).wait_with_output().unwrap();
    let result = result_of(&output);
    assert!(result["needs_budget_ns"].as_u64().unwrap() > 2_000_000_000, "{result}");
    assert_eq!(output.status.code(), Some(3));
    let output = tune(&own, &["--quiet", "--", "true"]).wait_with_output().unwrap();
    assert!(stderr(&output).contains("it ended before any setting could be tried"), "{}", stderr(&output));
}
