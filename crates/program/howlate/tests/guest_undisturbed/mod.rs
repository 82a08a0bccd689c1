//! What delays a guest: no other guest runs beside these.
//!
//! The harness runs tests in the order of their names, and those of this module after almost all others: while one of them waits until
//! it is alone, no two others could begin.

#[path = "../guest_event_loop/mod.rs"]
mod event_loop;

use std::path::Path;
use std::process::{Command, Output};

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::common::{self, Background, has_caveat, is_root, show_json, skip, stderr};
use crate::{GUEST, cannot_fetch, emulator, guest, guests_alone, recording};

/// The oldest and the newest supported kernels trace with the best tracer, and all parts add up; normal threads of PREEMPT_RT are
/// woken by a softirq.
#[test]
fn what_is_late_in_a_guest_is_split_into_its_parts() {
    let Some(_permit) = guests_alone() else { return };
    let options =
        ["--kernel", "debian:standard,debian:rt,debian:backports,debian:sid:rt", "--rounds", "1", "--json"];
    let command = ["cyclic", "--policy", "fifo:80,other", "--threads", "1", "--cpus", "0"];
    let why = ["--samples", "60", "--period", "5ms", "--rounds", "1", "--why"];
    let output = guest(&options, &[command.as_slice(), &why].concat()).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!has_caveat(&result, "tracer_refused"), "{}", result["caveats"]);
    for guest in result["guests"].as_array().unwrap() {
        let old = guest["accelerator"] == "tcg" && guest["qemu"].as_str().unwrap().starts_with("7.");
        assert_eq!(guest["vcpus"].as_array().unwrap().len(), if old { 1 } else { 2 }, "{guest}");
        assert_eq!(has_caveat(&result, "one_tcg_thread"), old, "{}", result["caveats"]);
    }
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    for result in results {
        let why = &result["why"];
        let (decomposed, undecomposed) =
            (why["decomposed"].as_u64().unwrap(), why["not_decomposed"].as_u64().unwrap());
        assert_eq!((&why["tracer"], decomposed + undecomposed), (&"bpf".into(), 60), "{why}");
        assert!(decomposed >= 9 * undecomposed, "{why}");
        let has = |part: &str| why["parts"].as_array().unwrap().iter().any(|result| result["part"] == part);
        let is_rt = result["condition"]["kernel"].as_str().unwrap().contains("-rt-");
        let is_ordinary = result["condition"]["policy"] == "other";
        assert_eq!(has("timer_softirq"), is_rt && is_ordinary, "{why}");
        assert!(has("interrupt_delivery") && has("return"), "{why}");
    }
}

/// A `fifo:95` thread that takes the CPU is named in the real-time guest.
#[test]
fn a_thread_that_takes_the_cpu_is_named_in_a_realtime_guest() {
    let Some(_permit) = guests_alone() else { return };
    if !is_root() || !common::may_use_realtime() {
        return skip("needs root and real-time priorities");
    }
    // Priority of QEMU's threads: otherwise the host delays the guest's timers.
    let options =
        ["--kernel", "debian:rt", "--vcpu-policy", "fifo:1", "--emulator-policy", "fifo:2", "--json"];
    // Its busy thread is to begin less than 350 us before a wake-up; on a busy host it seldom does.
    let check_for = |duration: &str| {
        guest(&options, &["selfcheck", "--for", "thread", "--duration", duration]).output().unwrap()
    };
    let hits_too_seldom = |output: &Output| output.status.code() == Some(3);
    let output = Some(check_for("2s")).filter(|output| !hits_too_seldom(output));
    let output = output.unwrap_or_else(|| check_for("30s"));
    if cannot_fetch(&output) {
        return;
    }
    // On a busy host a class may be missed.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["checks"][0]["kernel"].as_str().unwrap().contains("-rt-"));
    let check = &result["checks"][0]["check"];
    assert_eq!(check["tracer"], "bpf", "{check}");
    for class in check["classes"].as_array().unwrap() {
        let number = |name: &str| class[name].as_u64().unwrap();
        assert_eq!(number("not_adding_up"), 0, "{class}");
        // Time that the host keeps from the guest is lateness too, but invisible inside.
        assert!(number("hits") >= 20 && number("found") > 0, "{class}");
    }
}

/// Whether a part belongs to the layers below the kernel, or is unexplained.
fn is_below(part: &Value) -> bool {
    ["hypervisor", "machine", "undetermined"].iter().any(|kind| part["kind"] == *kind)
}

/// Whether it was awake for most of its lateness. Its activity meanwhile has no event.
fn was_awake(wakeup: &Value) -> bool {
    let is_awake = |part: &&Value| part["part"] == "arming" || part["part"] == "blocked";
    let parts = wakeup["parts"].as_array().unwrap().iter().filter(is_awake);
    2 * parts.map(|part| part["ns"].as_u64().unwrap()).sum::<u64>() > wakeup["latency_ns"].as_u64().unwrap()
}

/// The host stops the guest while a thread has its CPU or while that idles: neither is blamed.
#[test]
fn a_guest_that_asks_its_host_to_stop_it_blames_nobody_inside() {
    let Some(_permit) = guests_alone() else { return };
    for tracer in ["bpf", "tracefs"] {
        let command = ["selfcheck", "--for", "machine_stopped", "--duration", "6s", "--tracer", tracer];
        let output = guest(&["--kernel", "debian:standard", "--json"], &command).output().unwrap();
        if cannot_fetch(&output) {
            return;
        }
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let class = &result["checks"][0]["check"]["classes"][0];
        let number = |name: &str| class[name].as_u64().unwrap();
        assert_eq!((number("not_adding_up"), &class["class"]), (0, &"machine_stopped".into()), "{class}");
        assert!(number("hits") >= 20 && 100 * number("found") >= 95 * number("hits"), "{class}");
        assert_eq!(number("blamed_wrongly"), 0, "{class}");
    }
}

/// A stopped emulator is blamed on nothing inside, and causes no advice.
#[test]
fn an_emulator_that_is_stopped_again_and_again_is_not_blamed_on_anybody_inside() {
    let Some(_permit) = guests_alone() else { return };
    let kernel = ["--kernel", "debian:standard", "--rounds", "1"];
    let all = [GUEST.as_slice(), &kernel].concat();
    let command = ["--", "cyclic", "--policy", "fifo:80", "--period", "5ms", "--duration", "10s", "--why"];
    let last = [command.as_slice(), &["--rounds", "1"]].concat();
    if cannot_fetch(
        &guest(&[&kernel[..], &["--boot-deadline", "1ms"]].concat(), &["cyclic"]).output().unwrap(),
    ) {
        return;
    }
    let mut run = Background::start_with(&all, &last, "\"started\"");
    let emulator = emulator(run.child.as_ref().unwrap().id());
    // Until both turns have ended, one of them traced: some 60 stops in each.
    while run.child.as_mut().unwrap().try_wait().unwrap().is_none() {
        if kill_process(emulator, Signal::STOP).is_ok() {
            common::pause(30);
            // It may have ended in between.
            kill_process(emulator, Signal::CONT).ok();
        }
        common::pause(130);
    }
    let output = run.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = show_json(&run.recording);
    for result in result["results"].as_array().unwrap() {
        let worst = result["why"]["worst"].as_array().unwrap();
        let late = |value: &&Value| value["latency_ns"].as_u64() >= Some(25_000_000);
        let parts = |value: &Value| value["parts"].as_array().unwrap().clone();
        let all: Vec<Value> = worst.iter().filter(late).flat_map(parts).collect();
        let asleep = worst.iter().filter(|wakeup| late(wakeup) && !was_awake(wakeup));
        let parts: Vec<Value> = asleep.flat_map(parts).collect();
        let length = |of: &dyn Fn(&Value) -> bool| -> u64 {
            parts.iter().filter(|part| of(part)).map(|part| part["ns"].as_u64().unwrap()).sum()
        };
        assert!(length(&|_| true) >= 100_000_000, "it was not stopped: {}", result["why"]);
        let describe = || {
            let describe_part = |part: &Value| format!("{} {} {}", part["part"], part["kind"], part["ns"]);
            all.iter().map(describe_part).collect::<Vec<_>>().join(", ")
        };
        assert!(10 * length(&is_below) >= 9 * length(&|_| true), "{}", describe());
        // Longer ones than any that the emulator causes itself.
        let is_named = |part: &Value| {
            ["interrupt", "thread", "softirq"].iter().any(|kind| part["kind"] == *kind)
                && part["ns"].as_u64() > Some(10_000_000)
        };
        assert!(!all.iter().any(is_named), "{}", describe());
    }
}

/// The median of the kernel's timerlat tracer in ns; `None` where it cannot run, with the reason printed.
fn timerlat(folder: &Path) -> Option<f64> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guest_timerlat/init.c");
    let program = folder.join("init");
    let compiled = Command::new("cc").args(["-static", "-O1", "-o"]).arg(&program).arg(source).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        skip("needs a C compiler and a static C library");
        return None;
    }
    let options = ["--kernel", "debian:rt", "--vcpus", "1", "--program", program.to_str().unwrap()];
    // The guest runs no `howlate guest` protocol and sends no recording; its result is on the console.
    let output = guest(&options, &["cyclic", "--samples", "1"]).output().unwrap();
    if cannot_fetch(&output) {
        return None;
    }
    let message = stderr(&output);
    let line = message.lines().find(|line| line.contains("timerlat ")).unwrap_or_else(|| panic!("{message}"));
    let median = line.split("median ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    Some(median.parse().unwrap())
}

#[test]
fn the_kernels_own_tracer_finds_lateness_of_the_same_order() {
    let Some(_permit) = guests_alone() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(timerlat_ns) = timerlat(folder.path()) else { return };
    let recording = recording(folder.path());
    let out = ["--kernel", "debian:rt", "--vcpus", "1", "--out", recording.to_str().unwrap()];
    // Like timerlat's threads: bound, SCHED_FIFO 95, every 10 ms.
    let same = [
        "cyclic",
        "--threads",
        "1",
        "--cpus",
        "0",
        "--policy",
        "fifo:95",
        "--period",
        "10ms",
        "--duration",
        "5s",
    ];
    let output = guest(&out, &same).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let own_ns = show_json(&recording)["results"][0]["latency_ns"]["p50"].as_f64().unwrap();
    // No duration is asserted, only the same order of magnitude.
    assert!(
        timerlat_ns > 0.0 && (0.05..20.0).contains(&(own_ns / timerlat_ns)),
        "timerlat {timerlat_ns} ns, howlate {own_ns} ns"
    );
}
