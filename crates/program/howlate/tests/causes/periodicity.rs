//! Periodic lateness is found and attributed.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::alone;
use crate::common::{has_bpf, is_installed, json, may_use_realtime, skip};

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

#[test]
fn what_comes_seven_times_a_second_is_found_and_named() {
    if !has_bpf() || !may_use_realtime() {
        return;
    }
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let _alone = alone();
    let hog = Command::new("python3").args(["-c", HOG]).stdin(Stdio::null()).spawn().unwrap();
    let _hog = PeriodicHog(hog);
    let arguments =
        ["cyclic", "--cpus", "0", "--threads", "1", "--policy", "fifo:20", "--duration", "12s", "--dither"];
    let result = json(&[&arguments[..], &["--why", "--json", "--quiet"]].concat(), 0);
    assert_eq!(result["results"][0]["condition"]["dithered"], true);
    let seven = |value: &&Value| {
        let period = value["period_ns"].as_f64().unwrap();
        (period / 1e9 * 7.0 - 1.0).abs() < 0.01
    };
    let all = result["periodicity"].as_array().unwrap_or_else(|| panic!("nothing comes back: {result}"));
    let found = all.iter().find(seven).unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(found["culprit"]["name"], "python3", "{found}");
    assert_eq!(found["may_be_shorter"], false);
    assert!(found["text"].as_str().unwrap().contains("python3"), "{found}");
}
