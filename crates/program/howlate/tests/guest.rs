//! Real guests: Debian's kernels, booted in QEMU.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "guest_hotplug/mod.rs"]
mod guest_hotplug;
#[path = "guest_init/mod.rs"]
mod guest_init;
#[path = "guest_record/mod.rs"]
mod guest_record;

mod guest_requests;
#[path = "guest_scheduler/mod.rs"]
mod guest_scheduler;
#[path = "guest_undisturbed/mod.rs"]
mod undisturbed;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use common::{Background, has_caveat, howlate, is_root, run, show_json, skip, stderr};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Held for reading by tests whose guests may run beside others, for writing by those that check what delayed a guest.
static GUESTS: RwLock<()> = RwLock::new(());
/// Whether a guest has been booted, so that the kernel of most of them is there.
static IS_FETCHED: AtomicBool = AtomicBool::new(false);

/// The right to boot guests.
#[expect(dead_code, reason = "the guards are held")]
enum GuestPermit {
    Alone(RwLockWriteGuard<'static, ()>),
    BesideOthers(RwLockReadGuard<'static, ()>),
}

/// Waits until a guest may be booted; `None` where guests cannot be booted, with the reason printed.
fn guests() -> Option<GuestPermit> {
    // Two tests that fetch the same kernel would replace each other's.
    if !IS_FETCHED.swap(true, Ordering::SeqCst) {
        return guests_alone();
    }
    has_emulator().then(|| GuestPermit::BesideOthers(GUESTS.read().unwrap_or_else(PoisonError::into_inner)))
}

/// As `guests`, with no other guest beside it.
fn guests_alone() -> Option<GuestPermit> {
    has_emulator().then(|| GuestPermit::Alone(GUESTS.write().unwrap_or_else(PoisonError::into_inner)))
}

fn has_emulator() -> bool {
    let is_there = Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
    if !is_there {
        skip("needs qemu-system-x86");
    }
    is_there
}

/// Whether the kernels could not be downloaded, which is no fault of howlate.
fn cannot_fetch(output: &Output) -> bool {
    let message = stderr(output);
    let failed = message.contains("`apt-get")
        || message.contains("no mirror of Debian")
        || message.contains("cannot start apt")
        || message.contains("apt knows no");
    if failed {
        skip(&format!("Debian's kernels cannot be fetched: {}", message.lines().last().unwrap_or_default()));
    }
    failed
}

/// Options of all guests; emulated, so that every machine uses the same code.
const GUEST: [&str; 4] = ["guest", "--accel", "tcg", "--quiet"];

fn guest(options: &[&str], command: &[&str]) -> Command {
    let mut all = GUEST.to_vec();
    all.extend_from_slice(options);
    all.push("--");
    all.extend_from_slice(command);
    howlate(&all)
}

fn recording(folder: &Path) -> PathBuf {
    folder.join("guests.jsonl")
}

/// Number of lines of a kind in a recording.
fn count_lines(recording: &Path, kind: &str) -> usize {
    let text = std::fs::read_to_string(recording).unwrap();
    text.lines().filter(|line| line.starts_with(&format!("{{\"{kind}\""))).count()
}

#[test]
fn two_kernels_measure_the_same_and_end_in_one_recording() {
    let Some(_permit) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = recording(folder.path());
    let kernels = ["--kernel", "debian:standard,debian:rt", "--rounds", "2", "--out", out.to_str().unwrap()];
    let command = ["cyclic", "--policy", "fifo:80", "--threads", "1", "--samples", "100", "--period", "2ms"];
    let output = guest(&kernels, &command).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = show_json(&out);
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        // Two boots with 100 wake-ups each; none is lost.
        assert_eq!(result["count"], 200, "{result}");
        assert_eq!(result["in_force"]["policy"], "fifo");
        assert!(result["latency_ns"]["min"].as_i64().unwrap() >= 0);
    }
    let kernel = |index: usize| results[index]["condition"]["kernel"].as_str().unwrap().to_owned();
    assert!(!kernel(0).contains("-rt-") && kernel(1).contains("-rt-"), "{} {}", kernel(0), kernel(1));
    check_boots(&result);
    assert!(has_caveat(&result, "emulated_cpu"));
    assert_eq!(
        (count_lines(&out, "started"), count_lines(&out, "finished"), count_lines(&out, "end")),
        (4, 4, 1)
    );
    let text = String::from_utf8(run(&["show", out.to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains("PREEMPT_RT") && text.contains("Emulated CPU"), "{text}");
    let compared = common::stdout(&output);
    assert!(compared.contains(&format!("kernel {} → {}", kernel(0), kernel(1))), "{compared}");
    // Both sentences about turns and boots contain the same number.
    let text = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, needed) = text.split_once("cannot show any difference at this confidence; ").unwrap();
    let (needed, _) = needed.split_once(" can.").unwrap();
    assert!(text.contains(&format!("Use `--rounds {needed}`")), "{compared}");
}

/// Order A B B A; each boot with the guest's kernel and the host's effects.
fn check_boots(result: &Value) {
    let boots = result["guests"].as_array().unwrap();
    let realtime: Vec<bool> =
        boots.iter().map(|boot| boot["system"]["realtime_kernel"].as_bool().unwrap()).collect();
    assert_eq!(realtime, [false, true, true, false]);
    assert_eq!(boots[1]["system"]["preemption"], "PREEMPT_RT");
    let rounds: Vec<u64> = boots.iter().map(|boot| boot["first_round"].as_u64().unwrap()).collect();
    assert_eq!(rounds, [0, 0, 1, 1]);
    for boot in boots {
        assert_eq!(boot["vcpus"].as_array().unwrap().len(), 2);
        assert_eq!(boot["image_sha256"].as_str().unwrap().len(), 64);
        let times = boot["ended"]["vcpus"].as_array().unwrap();
        assert!(times.iter().any(|time| time["ran_ns"].as_u64().unwrap() > 0), "{boot}");
        assert!(boot["system"]["hypervisor"].as_str().unwrap().contains("emulated"), "{boot}");
    }
    let times: Vec<i64> = boots.iter().map(|boot| boot["at_ns"].as_i64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn the_threads_of_the_guest_get_the_settings_asked_for() {
    let Some(_permit) = guests() else { return };
    if !is_root() || !common::may_use_realtime() {
        return skip("needs root and real-time priorities");
    }
    let options =
        ["--kernel", "debian:standard", "--vcpus", "1", "--vcpu-policy", "fifo:1", "--vcpu-pin", "0"];
    let more = ["--emulator-policy", "nice:-5", "--host-load", "cpu", "--json"];
    let output = guest(&[options.as_slice(), &more].concat(), &["sleep", "--for", "1ms", "--samples", "50"]);
    let output = { output }.output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let boot = &result["guests"][0];
    assert_eq!((&boot["vcpus"][0]["policy"], &boot["vcpus"][0]["cpus"]), (&"fifo".into(), &"0".into()));
    assert_eq!(boot["emulator"]["nice"], -5);
    assert!(boot["ended"]["host_load"]["cpu_ns"].as_u64().unwrap() > 0);
    let condition = &result["results"][0]["condition"];
    assert_eq!(condition["on_host"], serde_json::json!({"load": "cpu", "vcpu_policy": "fifo:1"}));
    assert_eq!(result["results"][0]["count"], 50);
}

#[test]
fn a_plan_is_run_in_a_guest_and_kvm_is_left_where_it_leads_nowhere() {
    let Some(_permit) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("a plan.toml");
    std::fs::write(&plan, "[[sleep]]\nfor = \"1ms\"\nsamples = 40\n\n[[notify]]\nmechanism = [\"pipe\", \"udp\"]\nafter = \"1ms\"\nsamples = 20\nrounds = 2\n").unwrap();
    let arguments = ["guest", "--kernel", "debian:rt", "--json", "--", "run", plan.to_str().unwrap()];
    let output = run(&arguments);
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts: Vec<u64> = result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [40, 20, 20]);
    let emulated = result["guests"][0]["accelerator"] == "tcg";
    assert_eq!(has_caveat(&result, "emulated_cpu"), emulated);
    let tried = Path::new("/dev/kvm").exists() && is_root();
    assert_eq!(emulated && tried, has_caveat(&result, "kvm_failed"), "{}", result["caveats"]);
}

/// The static program for another processor, if it was built.
fn cross_built_program(triple: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_howlate")).ancestors().nth(2)?;
    Some(target.join(triple).join("dist/howlate")).filter(|program| program.exists())
}

#[test]
fn kernels_of_another_processor_measure_the_same() {
    let Some(_permit) = guests() else { return };
    let Some(program) = cross_built_program("aarch64-unknown-linux-gnu") else {
        return skip("needs `cargo xtask cross aarch64`");
    };
    if Command::new("qemu-system-aarch64").arg("--version").output().is_err() {
        return skip("needs qemu-system-arm");
    }
    let options = ["--arch", "aarch64", "--program", program.to_str().unwrap(), "--json", "--rounds", "1"];
    let kernels = ["--kernel", "debian:standard,debian:rt"];
    let command = ["cyclic", "--policy", "fifo:80", "--threads", "1", "--samples", "50", "--period", "5ms"];
    let output = guest(&[options.as_slice(), &kernels].concat(), &command).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (guest, realtime) in result["guests"].as_array().unwrap().iter().zip([false, true]) {
        assert_eq!(guest["system"]["architecture"], "aarch64");
        assert_eq!(guest["system"]["realtime_kernel"], realtime);
    }
    let counts: Vec<_> =
        result["results"].as_array().unwrap().iter().map(|result| &result["count"]).collect();
    assert_eq!(counts, [50, 50]);
}

/// The packages of another Debian suite are listed in howlate's own package lists.
#[test]
fn a_kernel_of_another_suite_is_fetched_and_boots() {
    let Some(_permit) = guests() else { return };
    let options = ["--kernel", "debian:backports", "--rounds", "1", "--json"];
    let output = guest(&options, &["cyclic", "--threads", "1", "--samples", "50"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["guests"][0]["asked"], "debian:backports");
    assert_eq!(result["results"][0]["count"], 50);
    let listed: Value = serde_json::from_slice(&run(&["guest", "--list", "--json"]).stdout).unwrap();
    let is_cached =
        |value: &&Value| value["release"] == result["guests"][0]["kernel"] && value["kept"] == true;
    assert!(listed["kernels"].as_array().unwrap().iter().any(|kernel| is_cached(&kernel)), "{listed}");
    let unknown = run(&["guest", "--kernel", "debian:triixie", "--", "cyclic"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `debian:trixie`?"), "{}", stderr(&unknown));
}

/// A guest that measures for a minute.
fn long() -> Option<Background> {
    let boot = ["--kernel", "debian:standard"];
    if cannot_fetch(
        &guest(&[boot.as_slice(), &["--boot-deadline", "1ms"]].concat(), &["cyclic"]).output().unwrap(),
    ) {
        return None;
    }
    let all = [GUEST.as_slice(), &boot, &["--hang-deadline", "3s"]].concat();
    Some(Background::start_with(&all, &["--", "cyclic", "--threads", "1", "--duration", "1m"], "\"block\""))
}

/// Process id of the emulator that a run started.
fn emulator(of: u32) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap();
    let is_qemu = |pid: &&str| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("qemu"))
    };
    let pid = children.split_whitespace().find(is_qemu).unwrap().parse().unwrap();
    Pid::from_raw(pid).unwrap()
}

/// Results before the interruption are kept, and the end is named.
fn check_kept(run: &mut Background, says: &str) -> String {
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains(says), "{}", stderr(&output));
    let result = show_json(&run.recording);
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(result["guests"][0]["ended"]["error"].as_str().unwrap().contains(says));
    assert_eq!(result["ended"], Value::Null);
    stderr(&output)
}

#[test]
fn a_killed_emulator_loses_nothing_that_was_streamed() {
    let Some(_permit) = guests() else { return };
    let Some(mut run) = long() else { return };
    kill_process(emulator(run.child.as_ref().unwrap().id()), Signal::KILL).unwrap();
    check_kept(&mut run, "the guest ended before it was done. QEMU was killed by signal 9.");
}

/// An emulator whose first guest ends while it boots, as if by a fault of its kernel.
const FAULTS_ONCE: &str = r#"#!/bin/sh
case "$*" in *-append*)
    if mkdir "${0%/*}/has-faulted"; then
        (sleep 1; echo 'Oops: int3: 0000 [#1] SMP'; kill $$) &
        exec 2>/dev/null
    fi
esac
PATH=${PATH#*:} exec qemu-system-x86_64 "$@"
"#;

#[test]
fn a_guest_whose_kernel_faults_while_it_boots_is_booted_again() {
    let Some(_permit) = guests() else { return };
    let version = Command::new("qemu-system-x86_64").arg("--version").output().unwrap();
    if !String::from_utf8_lossy(&version.stdout).starts_with("QEMU emulator version 7.") {
        return skip("newer versions of QEMU give a kernel no reason to fault");
    }
    let folder = tempfile::tempdir().unwrap();
    let emulator = folder.path().join("qemu-system-x86_64");
    std::fs::write(&emulator, FAULTS_ONCE).unwrap();
    std::fs::set_permissions(&emulator, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let options = ["--kernel", "debian:standard", "--rounds", "1", "--json"];
    let output =
        guest(&options, &["cyclic", "--threads", "1", "--samples", "50"]).env("PATH", path).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"][0]["count"], 50);
    let restarted =
        result["caveats"].as_array().unwrap().iter().find(|caveat| caveat["caveat"] == "guest_restarted");
    assert_eq!(restarted.unwrap()["fault"], "Oops: int3: 0000 [#1] SMP", "{}", result["caveats"]);
}

#[test]
fn a_guest_that_stands_still_is_ended() {
    let Some(_permit) = guests() else { return };
    let Some(mut run) = long() else { return };
    kill_process(emulator(run.child.as_ref().unwrap().id()), Signal::STOP).unwrap();
    let message = check_kept(&mut run, "the guest sent nothing for 3s");
    assert!(message.contains("Its CPUs ran for") && message.contains("meanwhile"), "{message}");
}

#[test]
fn ctrl_c_ends_the_guest_and_keeps_what_it_measured() {
    let Some(_permit) = guests() else { return };
    let Some(mut run) = long() else { return };
    let emulator = emulator(run.child.as_ref().unwrap().id());
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result = show_json(&run.recording);
    assert_eq!(result["ended"], "interrupted");
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(rustix::process::test_kill_process(emulator).is_err(), "the emulator goes on");
}

#[test]
fn a_kernel_that_panics_is_shown_with_its_last_words() {
    let Some(_permit) = guests() else { return };
    let options = ["--kernel", "debian:cloud", "--append", "rdinit=/nothing"];
    let output = guest(&options, &["cyclic", "--samples", "1"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("the guest ended before it was done") && message.contains("Kernel panic"),
        "{message}"
    );
}

/// With the doctor's advice the isolated CPU is measured; without it a caveat names the CPU.
#[test]
fn isolated_cpus_can_be_measured_and_are_offered() {
    let Some(_permit) = guests() else { return };
    let options = ["--kernel", "debian:standard", "--vcpus", "2", "--append", "isolcpus=1", "--json"];
    let measured = |arguments: &[&str]| {
        let output =
            guest(&options, &[arguments, &["--samples", "20", "--period", "5ms"]].concat()).output().unwrap();
        if cannot_fetch(&output) {
            return None;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        Some(serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let Some(isolated) = measured(&["cyclic", "--cpus", "1"]) else { return };
    assert_eq!(isolated["guests"][0]["system"]["allowed"], "0");
    assert_eq!(isolated["guests"][0]["system"]["isolated"], "1");
    assert_eq!(isolated["results"][0]["in_force"]["cpus"], "1");
    assert_eq!(isolated["results"][0]["count"], 20);
    let Some(unasked) = measured(&["cyclic"]) else { return };
    let caveats = unasked["caveats"].as_array().unwrap();
    let caveat = caveats.iter().find(|caveat| caveat["caveat"] == "cpus_not_measured");
    assert_eq!(caveat.unwrap_or_else(|| panic!("{caveats:?}"))["isolated"], "1");
}

#[test]
fn a_guest_that_takes_too_long_to_boot_is_ended() {
    let Some(_permit) = guests() else { return };
    let options = ["--kernel", "debian:cloud", "--boot-deadline", "100ms"];
    let output = guest(&options, &["cyclic", "--samples", "1"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(
        message.contains("did not begin to measure within 100ms") && message.contains("--boot-deadline"),
        "{message}"
    );
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_booted() {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        return skip("needs qemu-system-x86");
    }
    let taken = tempfile::NamedTempFile::new().unwrap();
    let taken = taken.path().to_str().unwrap();
    let rows: [(&[&str], &str); 6] = [
        (&["guest", "--kernel", "/etc/passwd", "--", "cyclic"], "wanted a bzImage"),
        (&["guest", "--kernel", "/no/such/kernel", "--", "cyclic"], "cannot read the kernel"),
        (&["guest", "--kernel", "/etc/passwd", "--", "show"], "`show` cannot be used in a guest"),
        (
            &["guest", "--kernel", "/etc/passwd", "--", "cyclic", "--json"],
            "belongs to `howlate guest` itself",
        ),
        (&["guest", "--kernel", "/etc/passwd", "--", "cyclic", "--period", "1"], "has no unit"),
        (&["guest", "--kernel", "/etc/passwd", "--out", taken, "--", "cyclic"], "refusing to overwrite it"),
    ];
    for (arguments, says) in rows {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn without_the_emulator_its_package_is_named() {
    let output = howlate(&["guest", "--kernel", "debian:rt", "--", "cyclic"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("apt-get install"), "{}", stderr(&output));
}
