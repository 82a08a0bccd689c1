//! Periodic lateness is found and attributed.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use rustix::process::Signal;

use crate::alone;
use crate::common::{has_bpf, howlate, is_installed, json, may_use_realtime, skip};
use crate::record::RecorderProcess;

/// Takes CPU 0 for 3 ms, exactly seven times a second.
const HOG: &str = "
import os, time
os.sched_setaffinity(0, {0})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(70))
due = time.monotonic()
while True:
    due += 1 / 7
    time.sleep(max(0, due - time.monotonic()))
    until = time.monotonic() + 0.003
    while time.monotonic() < until: pass
";

struct PeriodicHog(Child);

impl Drop for PeriodicHog {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl PeriodicHog {
    /// `None`: it cannot run here, or would not be seen.
    fn start() -> Option<Self> {
        if !has_bpf() || !may_use_realtime() {
            return None;
        }
        if !is_installed("python3") {
            skip("python3 is not installed");
            return None;
        }
        Some(Self(Command::new("python3").args(["-c", HOG]).stdin(Stdio::null()).spawn().unwrap()))
    }
}

fn is_seventh(found: &Value) -> bool {
    (found["period_ns"].as_f64().unwrap() / 1e9 * 7.0 - 1.0).abs() < 0.01
}

#[test]
fn what_comes_seven_times_a_second_is_found_and_named() {
    let _alone = alone();
    let Some(_hog) = PeriodicHog::start() else { return };
    let arguments =
        ["cyclic", "--cpus", "0", "--threads", "1", "--policy", "fifo:20", "--duration", "12s", "--dither"];
    let result = json(&[&arguments[..], &["--why", "--json", "--quiet"]].concat(), 0);
    assert_eq!(result["results"][0]["condition"]["dithered"], true);
    let all = result["periodicity"].as_array().unwrap_or_else(|| panic!("nothing comes back: {result}"));
    let found = all.iter().find(|found| is_seventh(found)).unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(found["culprit"]["name"], "python3", "{found}");
    assert_eq!(found["may_be_shorter"], false);
    assert!(found["text"].as_str().unwrap().contains("python3"), "{found}");
}

#[test]
fn a_recorder_names_who_comes_seven_times_a_second() {
    let _alone = alone();
    let Some(_hog) = PeriodicHog::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("kept");
    let out = out.to_str().unwrap();
    let command =
        ["record", "--late-above", "2ms", "--only-policy", "fifo", "--timelines", "0/h", "--out", out];
    let mut recorder = RecorderProcess::begin(howlate(&command));
    json(
        &[
            "cyclic",
            "--cpus",
            "0",
            "--threads",
            "1",
            "--policy",
            "fifo:20",
            "--duration",
            "8s",
            "--json",
            "--quiet",
        ],
        0,
    );
    assert_eq!(recorder.end(Signal::TERM), Some(0));
    let shown = json(&["show", out, "--json"], 0);
    let all =
        shown["recurring"].as_array().unwrap_or_else(|| panic!("nobody comes back: {}", shown["culprits"]));
    let is_hog = |found: &&Value| found["name"] == "python3" && is_seventh(found);
    let found = all.iter().find(is_hog).unwrap_or_else(|| panic!("{all:?}"));
    assert!(found["text"].as_str().unwrap().starts_with("python3 comes back every 142.9 ms: "), "{found}");
}
