//! howlate in place of hwlatdetect.

use std::fs;

use crate::common::{ForAnyone, is_root, skip};
use crate::{last_cpu, under_the_name};

#[test]
fn a_pod_of_openshifts_gets_its_verdict() {
    if !is_root() {
        return skip("only root may see what the kernel did");
    }
    let (mut command, folder) = under_the_name("hwlatdetect");
    let (cpu, report) = (last_cpu(), folder.path().join("report"));
    let line = "--threshold 1000 --hardlimit 3600000000 --duration 1s --window 500000us --width 100000us";
    let output = command
        .args(line.split(' '))
        .args(["--cpu-list", &cpu, "--report", report.to_str().unwrap()])
        .output()
        .unwrap();
    let (printed, message) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if message.contains("cannot be told") {
        return skip(&message);
    }
    assert_eq!(output.status.code(), Some(0), "{printed}{message}");
    for line in [
        "hwlatdetect:  test duration 1 seconds",
        "        Latency threshold: 1000us",
        "        Sample window:     500000us",
        "     Non-sampling period:  400000us",
        "test finished",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}: {printed}");
    }
    let recorded = printed.lines().find_map(|line| line.strip_prefix("Samples recorded: ")).unwrap();
    let samples = fs::read_to_string(report).unwrap();
    assert_eq!(samples.lines().count(), recorded.parse::<usize>().unwrap());
    let sample = regex::Regex::new(r"^ts: \d+\.\d{9}, inner:\d+, outer:0$").unwrap();
    assert!(samples.lines().all(|line| sample.is_match(line)), "{samples}");
}

#[test]
fn a_limit_that_is_exceeded_is_status_1() {
    if !is_root() {
        return skip("only root may see what the kernel did");
    }
    let (mut command, _folder) = under_the_name("hwlatdetect");
    let cpu = last_cpu();
    let line = "--threshold 1us --hardlimit 0 --duration 1 --window 300ms --width 200ms --quiet --cpu-list";
    let output = command.args(line.split(' ')).arg(&cpu).output().unwrap();
    let (printed, message) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if message.contains("cannot be told") {
        return skip(&message);
    }
    // For a machine without such gaps, which a guest is not.
    let expected = if printed.is_empty() { 0 } else { 1 };
    assert_eq!(output.status.code(), Some(expected), "{printed}{message}");
    assert!(printed.lines().all(|line| line.starts_with("ts: ")), "{printed}");
}

#[test]
fn without_root_it_says_what_it_needs() {
    let anyone = ForAnyone::new();
    let output = anyone.howlate(&["hwlatdetect", "--duration", "1"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot be told from what the kernel took"), "{message}");
}
