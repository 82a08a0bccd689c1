//! `howlate gaps`: results, refusals and privileges.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{ForAnyone, assert_valid, howlate, is_root, json, run, skip, stderr, stdout, wait_until};
use crate::last_cpu;

fn of_one_cpu(more: &[&str]) -> Value {
    let cpu = last_cpu();
    json(&[&["gaps", "--cpus", &cpu, "--json", "--quiet"], more].concat(), 0)
}

#[test]
fn json_is_as_its_schema_says_and_adds_up() {
    let found = of_one_cpu(&["--duration", "300ms"]);
    assert_valid(&found, "gaps");
    let cpu_gaps = &found["gaps"][0];
    let number = |name: &str| cpu_gaps[name].as_u64().unwrap();
    assert!(number("lasted_ns") >= 300_000_000 && number("turns") > number("count"), "{cpu_gaps}");
    let ppm = number("total_ns") as f64 / number("lasted_ns") as f64 * 1e6;
    assert!((cpu_gaps["ppm"].as_f64().unwrap() - ppm).abs() < 1e-3, "{cpu_gaps}");
    let sum = |list: &str, name: &str| {
        cpu_gaps[list].as_array().unwrap().iter().map(|entry| entry[name].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum("histogram", "count") + number("lost"), number("count"));
    assert_eq!(sum("by", "gaps") + number("lost"), number("count"));
    assert!(
        number("lost") > 0 || sum("by", "total_ns").abs_diff(number("total_ns")) <= number("count"),
        "{cpu_gaps}"
    );
    assert!(number("max_ns") >= cpu_gaps["worst"][0]["length_ns"].as_u64().unwrap_or(0));
}

/// Gaps of the first CPU that are charged to a shell; `None` if it is not named.
fn gaps_of_shell(found: &Value) -> Option<u64> {
    let is_it = |share: &&Value| share["kind"] == "thread" && share["name"] == "sh";
    found["gaps"][0]["by"].as_array()?.iter().find(is_it)?["gaps"].as_u64()
}

#[test]
fn a_thread_that_takes_the_cpu_is_named() {
    if !is_root() {
        return skip("only root may see who had a CPU");
    }
    let cpu = last_cpu();
    let mut rival = Command::new("taskset")
        .args(["-c", &cpu, "sh", "-c", "while :; do :; done"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Other tests may have most of each gap for a while.
    let mut found = of_one_cpu(&["--duration", "500ms"]);
    for _ in 0..10 {
        if found["tracer"] == "none" || gaps_of_shell(&found) > Some(0) {
            break;
        }
        found = of_one_cpu(&["--duration", "500ms"]);
    }
    rival.kill().unwrap();
    rival.wait().unwrap();
    if found["tracer"] == "none" {
        return skip(found["refused"].as_str().unwrap_or_default());
    }
    assert!(gaps_of_shell(&found) > Some(0), "{found}");
}

#[test]
fn ctrl_c_keeps_the_result() {
    let cpu = last_cpu();
    let child = howlate(&["gaps", "--cpus", &cpu, "--duration", "1h", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let task = format!("/proc/{}/task", child.id());
    let spins = || {
        let threads = std::fs::read_dir(&task).unwrap().flatten();
        let mut names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
        names.any(|name| name.starts_with("howlate-gaps"))
    };
    wait_until("a thread spins", spins);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((output.status.code(), &found["interrupted"]), (Some(3), &true.into()));
}

#[test]
fn what_cannot_be_is_refused_with_what_to_type() {
    let refused = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        stderr(&output)
    };
    assert!(refused(&["gaps", "--cpus", "4000"]).contains("hint: `--cpus "));
    assert!(refused(&["gaps", "--above", "1ns"]).contains("hint: `--above "));
    assert!(refused(&["gaps", "--policy", "deadline:1ms/10ms"]).contains("hint: `--policy fifo:80`"));
}

#[test]
fn one_cpu_is_not_taken_unasked() {
    let cpu = last_cpu();
    let howlate = env!("CARGO_BIN_EXE_howlate");
    let output = Command::new("taskset").args(["-c", &cpu, howlate, "gaps"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&format!("`--cpus {cpu}`")), "{}", stderr(&output));
}

#[test]
fn without_root_gaps_are_counted_and_the_kernels_account_tells_of_threads() {
    let anyone = ForAnyone::new();
    let cpu = last_cpu();
    let arguments = ["gaps", "--cpus", &cpu, "--duration", "200ms", "--json"];
    let output = anyone.howlate(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["tracer"], "none");
    assert!(found["refused"].is_string() && found["gaps"][0]["turns"].as_u64().unwrap() > 0, "{found}");
    let by = found["gaps"][0]["by"].as_array().unwrap();
    assert!(by.iter().all(|share| share["kind"] == "not_traced"), "{found}");
}

#[test]
fn a_thread_that_is_taken_off_its_cpu_is_told_of_and_its_causes_are_not() {
    let all: Vec<u32> = howlate_linux::sched::bindable_cpus().unwrap().iter().collect();
    let [first, .., last] = all.as_slice() else { return skip("needs two CPUs") };
    let arguments = ["gaps", "--cpus", &last.to_string(), "--duration", "3s", "--quiet", "--json"];
    let child = howlate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let name = format!("howlate-gaps-{last}");
    let spinner = || {
        let is_it = |tid: &u32| {
            std::fs::read_to_string(format!("/proc/{tid}/comm")).is_ok_and(|comm| comm.trim() == name)
        };
        howlate_procfs::threads(&howlate_procfs::Root::live(), child.id()).into_iter().find(is_it)
    };
    wait_until("a thread that spins", || spinner().is_some());
    let moved =
        Command::new("taskset").args(["-pc", &first.to_string(), &spinner().unwrap().to_string()]).output();
    assert!(moved.unwrap().status.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cpu_gaps = &found["gaps"][0];
    assert_eq!(cpu_gaps["moved"], true, "{found}");
    let by = cpu_gaps["by"].as_array().unwrap();
    assert!(by.iter().all(|share| share["kind"] == "not_traced"), "{by:?}");
}
