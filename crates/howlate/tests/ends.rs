//! However a run ends, what was measured is kept.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Background, has_caveat, is_root, run, shown, skip, stderr, stdout};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn an_interrupt_ends_in_order_and_keeps_the_result() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "1h"]);
        run.wait_for("\"block\"");
        run.signal(signal);
        let output = run.output();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains("interrupted"), "{}", stdout(&output));
        let result = shown(&run.recording);
        assert_eq!(result["ended"], "interrupted");
        assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    }
}

#[test]
fn threads_in_a_long_wait_are_woken_to_end() {
    let mut run = Background::start(&["cyclic", "--threads", "2", "--period", "1h", "--duration", "10h"]);
    run.signal(Signal::INT);
    let output = run.output();
    let result = shown(&run.recording);
    assert_eq!(result["ended"], "interrupted");
    assert!(!has_caveat(&result, "unfinished"), "{}", stdout(&output));
}

#[test]
fn a_killed_run_leaves_a_readable_recording() {
    let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "1h"]);
    run.wait_for("\"block\"");
    run.signal(Signal::KILL);
    run.output();
    let result = shown(&run.recording);
    assert_eq!(result["ended"], Value::Null);
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(has_caveat(&result, "no_end") || has_caveat(&result, "recording_cut_off"));
}

// time      0 s        1 s      1.5 s        3 s
//           |-----------|XXXXXXXX|------------|     X: stopped
// wake-ups  1000         none      ~1500            the first one after the stop is 500 ms late
#[test]
fn a_stall_is_never_hidden() {
    let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "3s", "--json"]);
    common::pause(1_000);
    run.signal(Signal::STOP);
    common::pause(500);
    run.signal(Signal::CONT);
    let output = run.output();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = &result["results"][0];
    let (count, missed) = (one["count"].as_u64().unwrap(), one["missed_periods"].as_u64().unwrap());
    assert!(missed >= 400, "{missed} periods missed, {count} wake-ups");
    assert!(one["latency_ns"]["max"].as_i64().unwrap() >= 400_000_000);
    // More than one in a hundred planned wake-ups fell into the stall.
    assert!(one["corrected_ns"]["p99"].as_i64().unwrap() >= 100_000_000);
    assert_eq!(one["corrected_ns"]["max"], one["latency_ns"]["max"]);
    assert_eq!(shown(&run.recording)["results"], result["results"]);
}

/// A file system of 64 KiB, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(std::process::Command::new("umount").arg(self.0.path()).status());
    }
}

#[test]
fn a_full_disk_stops_the_recording_not_the_measurement() {
    if !is_root() {
        return skip("mounting a small disk needs root");
    }
    let Some(disk) = SmallDisk::mount() else { return skip("a tmpfs cannot be mounted here") };
    let path = disk.0.path().join("full.jsonl");
    let out = path.to_str().unwrap();
    let output =
        run(&["sleep", "--for", "10us", "--samples", "20000", "--rounds", "20", "--out", out, "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"][0]["count"], 20_000, "everything was measured");
    assert!(has_caveat(&result, "recording_incomplete"));
    assert_eq!(output.status.code(), Some(3));
    let kept = shown(&path);
    let count = kept["results"][0]["count"].as_u64().unwrap();
    assert!(count > 0 && count < 20_000, "{count} wake-ups were kept");
}

#[test]
fn a_recording_cut_at_any_byte_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.jsonl");
    run(&["sleep", "--for", "10us,20us", "--samples", "20", "--out", path.to_str().unwrap(), "--json"]);
    let whole = std::fs::read(&path).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let cut = folder.path().join("cut.jsonl");
    for part in 0..12 {
        let length = first_line + (whole.len() - first_line) * part / 12;
        std::fs::write(&cut, &whole[..length]).unwrap();
        let result = shown(&cut);
        assert!(has_caveat(&result, "no_end") || has_caveat(&result, "recording_cut_off"), "{length}");
    }
}
