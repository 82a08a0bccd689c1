//! Real guests: Debian's kernels, booted in QEMU.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "guest_event_loop/mod.rs"]
mod guest_event_loop;
#[path = "guest_hotplug/mod.rs"]
mod guest_hotplug;
#[path = "guest_init/mod.rs"]
mod guest_init;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard};

use common::{Background, has_caveat, howlate, is_root, run, shown, skip, stderr};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Guests boot one after the other: side by side on few CPUs they would miss their deadlines.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Waits for its turn; `None`, with the reason said, where guests cannot be booted.
fn guests() -> Option<MutexGuard<'static, ()>> {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        skip("needs qemu-system-x86");
        return None;
    }
    Some(ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Whether the kernels could not be fetched, which is no fault of howlate's.
fn cannot_fetch(output: &Output) -> bool {
    let said = stderr(output);
    let cannot = said.contains("`apt-get")
        || said.contains("no mirror of Debian")
        || said.contains("cannot start apt")
        || said.contains("apt knows no");
    if cannot {
        skip(&format!("Debian's kernels cannot be fetched: {}", said.lines().last().unwrap_or_default()));
    }
    cannot
}

/// Options of every guest here; emulated, so that all machines take the same way.
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

/// How many lines of a kind a recording holds.
fn lines(recording: &Path, kind: &str) -> usize {
    let text = std::fs::read_to_string(recording).unwrap();
    text.lines().filter(|line| line.starts_with(&format!("{{\"{kind}\""))).count()
}

#[test]
fn two_kernels_measure_the_same_and_end_in_one_recording() {
    let Some(_turn) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = recording(folder.path());
    let kernels = ["--kernel", "debian:standard,debian:rt", "--rounds", "2", "--out", out.to_str().unwrap()];
    let command = ["cyclic", "--policy", "fifo:80", "--threads", "1", "--samples", "100", "--period", "2ms"];
    let output = guest(&kernels, &command).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = shown(&out);
    let results = result["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for one in results {
        // Two boots of 100; nothing was lost on the way.
        assert_eq!(one["count"], 200, "{one}");
        assert_eq!(one["in_force"]["policy"], "fifo");
        assert!(one["latency_ns"]["min"].as_i64().unwrap() >= 0);
    }
    let kernel = |index: usize| results[index]["condition"]["kernel"].as_str().unwrap().to_owned();
    assert!(!kernel(0).contains("-rt-") && kernel(1).contains("-rt-"), "{} {}", kernel(0), kernel(1));
    check_boots(&result);
    assert!(has_caveat(&result, "emulated_cpu"));
    assert_eq!((lines(&out, "started"), lines(&out, "finished"), lines(&out, "end")), (4, 4, 1));
    let text = String::from_utf8(run(&["show", out.to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains("PREEMPT_RT") && text.contains("Emulated CPU"), "{text}");
    let compared = common::stdout(&output);
    assert!(compared.contains(&format!("kernel {} → {}", kernel(0), kernel(1))), "{compared}");
    // What it says of turns and of boots is the same number.
    let words = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, needed) = words.split_once("cannot show any difference at this confidence; ").unwrap();
    let (needed, _) = needed.split_once(" can.").unwrap();
    assert!(words.contains(&format!("Use `--rounds {needed}`")), "{compared}");
}

/// A B B A, each with what is known of the guest and of what the host did to it.
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
    let Some(_turn) = guests() else { return };
    if !is_root() || !common::may_use_realtime() {
        return skip("needs root and real-time priorities");
    }
    let options =
        ["--kernel", "debian:standard", "--cpus", "1", "--vcpu-policy", "fifo:1", "--vcpu-pin", "0"];
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
    let Some(_turn) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("a plan.toml");
    std::fs::write(&plan, "[[sleep]]\nfor = \"1ms\"\nsamples = 40\n\n[[notify]]\nby = [\"pipe\", \"udp\"]\nafter = \"1ms\"\nsamples = 20\nrounds = 2\n").unwrap();
    let words = ["guest", "--kernel", "debian:rt", "--json", "--", "run", plan.to_str().unwrap()];
    let output = run(&words);
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts: Vec<u64> =
        result["results"].as_array().unwrap().iter().map(|one| one["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [40, 20, 20]);
    let emulated = result["guests"][0]["accelerator"] == "tcg";
    assert_eq!(has_caveat(&result, "emulated_cpu"), emulated);
    let tried = Path::new("/dev/kvm").exists() && is_root();
    assert_eq!(emulated && tried, has_caveat(&result, "kvm_failed"), "{}", result["caveats"]);
}

/// The static program for another processor, where it has been built.
fn cross_built(triple: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_howlate")).ancestors().nth(2)?;
    Some(target.join(triple).join("dist/howlate")).filter(|program| program.exists())
}

#[test]
fn kernels_of_another_processor_measure_the_same() {
    let Some(_turn) = guests() else { return };
    let Some(program) = cross_built("aarch64-unknown-linux-gnu") else {
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
    let counts: Vec<_> = result["results"].as_array().unwrap().iter().map(|one| &one["count"]).collect();
    assert_eq!(counts, [50, 50]);
}

/// A kernel of another suite, split into packages, comes with lists of howlate's own.
#[test]
fn a_kernel_of_another_suite_is_fetched_and_boots() {
    let Some(_turn) = guests() else { return };
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
    let kept = |one: &&Value| one["release"] == result["guests"][0]["kernel"] && one["kept"] == true;
    assert!(listed["kernels"].as_array().unwrap().iter().any(|one| kept(&one)), "{listed}");
    let unknown = run(&["guest", "--kernel", "debian:triixie", "--", "cyclic"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `debian:trixie`?"), "{}", stderr(&unknown));
}

/// The oldest and the newest kernels that people run trace, with the best tracer, and every part adds up; ordinary threads of
/// PREEMPT_RT are woken by a softirq.
#[test]
fn what_is_late_in_a_guest_is_split_into_its_parts() {
    let Some(_turn) = guests() else { return };
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
    for one in results {
        let why = &one["why"];
        let (known, unknown) = (why["decomposed"].as_u64().unwrap(), why["not_decomposed"].as_u64().unwrap());
        assert_eq!((&why["tracer"], known + unknown), (&"bpf".into(), 60), "{why}");
        assert!(known >= 9 * unknown, "{why}");
        let has = |part: &str| why["parts"].as_array().unwrap().iter().any(|one| one["part"] == part);
        let is_rt = one["condition"]["kernel"].as_str().unwrap().contains("-rt-");
        let is_ordinary = one["condition"]["policy"] == "other";
        assert_eq!(has("timer_softirq"), is_rt && is_ordinary, "{why}");
        assert!(has("interrupt_delivery") && has("return"), "{why}");
    }
}

/// A `fifo:95` thread that takes the CPU is named in the real-time guest.
#[test]
fn a_thread_that_takes_the_cpu_is_named_in_a_realtime_guest() {
    let Some(_turn) = guests() else { return };
    if !is_root() || !common::may_use_realtime() {
        return skip("needs root and real-time priorities");
    }
    // QEMU's threads first: a guest whose timers come late is late because of its host.
    let options =
        ["--kernel", "debian:rt", "--vcpu-policy", "fifo:1", "--emulator-policy", "fifo:2", "--json"];
    let command = ["selfcheck", "--for", "thread", "--duration", "2s"];
    let output = guest(&options, &command).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    // On a busy host a class may be missed.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["checks"][0]["kernel"].as_str().unwrap().contains("-rt-"));
    let check = &result["checks"][0]["check"];
    assert_eq!(check["tracer"], "bpf", "{check}");
    for one in check["classes"].as_array().unwrap() {
        let number = |name: &str| one[name].as_u64().unwrap();
        assert_eq!(number("not_adding_up"), 0, "{one}");
        // What the host keeps from the guest is lateness too, of which nothing inside tells.
        assert!(number("hits") >= 20 && number("found") > 0, "{one}");
    }
}

/// Whether a part is charged to what is below the kernel, or to nobody.
fn is_below(part: &Value) -> bool {
    ["hypervisor", "machine", "undetermined"].iter().any(|kind| part["kind"] == *kind)
}

/// Whether it did not sleep on its timer for most of the time by which it was late: what it did meanwhile, no event tells.
fn was_awake(one: &Value) -> bool {
    let is_awake = |part: &&Value| part["part"] == "arming" || part["part"] == "blocked";
    let parts = one["parts"].as_array().unwrap().iter().filter(is_awake);
    2 * parts.map(|part| part["ns"].as_u64().unwrap()).sum::<u64>() > one["latency_ns"].as_u64().unwrap()
}

/// Its host stops it, while now a thread has its CPU, now nobody: neither is to blame.
#[test]
fn a_guest_that_asks_its_host_to_stop_it_blames_nobody_inside() {
    let Some(_turn) = guests() else { return };
    for tracer in ["bpf", "tracefs"] {
        let command = ["selfcheck", "--for", "machine_stopped", "--duration", "6s", "--tracer", tracer];
        let output = guest(&["--kernel", "debian:standard", "--json"], &command).output().unwrap();
        if cannot_fetch(&output) {
            return;
        }
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let one = &result["checks"][0]["check"]["classes"][0];
        let number = |name: &str| one[name].as_u64().unwrap();
        assert_eq!((number("not_adding_up"), &one["class"]), (0, &"machine_stopped".into()), "{one}");
        assert!(number("hits") >= 20 && 100 * number("found") >= 95 * number("hits"), "{one}");
        assert_eq!(number("blamed_wrongly"), 0, "{one}");
    }
}

/// What stops the emulator from outside is nobody's doing inside, and no advice follows from it.
#[test]
fn an_emulator_that_is_stopped_again_and_again_is_not_blamed_on_anybody_inside() {
    let Some(_turn) = guests() else { return };
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
    // Until both turns are over, of which one is traced: some 60 times in each.
    while run.child.as_mut().unwrap().try_wait().unwrap().is_none() {
        if kill_process(emulator, Signal::STOP).is_ok() {
            common::pause(30);
            // It may have ended between the two.
            kill_process(emulator, Signal::CONT).ok();
        }
        common::pause(130);
    }
    let output = run.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = shown(&run.recording);
    for one in result["results"].as_array().unwrap() {
        let worst = one["why"]["worst"].as_array().unwrap();
        let late = |one: &&Value| one["latency_ns"].as_u64() >= Some(25_000_000);
        let parts = |one: &Value| one["parts"].as_array().unwrap().clone();
        let all: Vec<Value> = worst.iter().filter(late).flat_map(parts).collect();
        let asleep = worst.iter().filter(|one| late(one) && !was_awake(one));
        let parts: Vec<Value> = asleep.flat_map(parts).collect();
        let length = |of: &dyn Fn(&Value) -> bool| -> u64 {
            parts.iter().filter(|part| of(part)).map(|part| part["ns"].as_u64().unwrap()).sum()
        };
        assert!(length(&|_| true) >= 100_000_000, "it was not stopped: {}", one["why"]);
        let said = || {
            let one = |part: &Value| format!("{} {} {}", part["part"], part["kind"], part["ns"]);
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        assert!(10 * length(&is_below) >= 9 * length(&|_| true), "{}", said());
        // Longer ones than the emulator takes for anything.
        let is_named = |part: &Value| {
            ["interrupt", "thread", "softirq"].iter().any(|kind| part["kind"] == *kind)
                && part["ns"].as_u64() > Some(10_000_000)
        };
        assert!(!all.iter().any(is_named), "{}", said());
    }
}

/// A guest that measures for a minute, if nobody ends it.
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

/// The emulator that a run started.
fn emulator(of: u32) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap();
    let is_qemu = |pid: &&str| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("qemu"))
    };
    let pid = children.split_whitespace().find(is_qemu).unwrap().parse().unwrap();
    Pid::from_raw(pid).unwrap()
}

/// What came before the end is kept, and the end is named.
fn check_kept(run: &mut Background, says: &str) -> String {
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains(says), "{}", stderr(&output));
    let result = shown(&run.recording);
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(result["guests"][0]["ended"]["error"].as_str().unwrap().contains(says));
    assert_eq!(result["ended"], Value::Null);
    stderr(&output)
}

#[test]
fn a_killed_emulator_loses_nothing_that_was_streamed() {
    let Some(_turn) = guests() else { return };
    let Some(mut run) = long() else { return };
    kill_process(emulator(run.child.as_ref().unwrap().id()), Signal::KILL).unwrap();
    check_kept(&mut run, "the guest ended before it was done");
}

#[test]
fn a_guest_that_stands_still_is_ended() {
    let Some(_turn) = guests() else { return };
    let Some(mut run) = long() else { return };
    kill_process(emulator(run.child.as_ref().unwrap().id()), Signal::STOP).unwrap();
    let said = check_kept(&mut run, "the guest sent nothing for 3s");
    assert!(said.contains("Its CPUs ran for") && said.contains("meanwhile"), "{said}");
}

#[test]
fn ctrl_c_ends_the_guest_and_keeps_what_it_measured() {
    let Some(_turn) = guests() else { return };
    let Some(mut run) = long() else { return };
    let emulator = emulator(run.child.as_ref().unwrap().id());
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result = shown(&run.recording);
    assert_eq!(result["ended"], "interrupted");
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(rustix::process::test_kill_process(emulator).is_err(), "the emulator goes on");
}

#[test]
fn a_kernel_that_panics_is_shown_with_its_last_words() {
    let Some(_turn) = guests() else { return };
    let options = ["--kernel", "debian:cloud", "--append", "rdinit=/nothing"];
    let output = guest(&options, &["cyclic", "--samples", "1"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("the guest ended before it was done") && said.contains("Kernel panic"), "{said}");
}

/// Who follows the doctor's advice measures the isolated CPU, and who does not is told that there is one.
#[test]
fn isolated_cpus_can_be_measured_and_are_offered() {
    let Some(_turn) = guests() else { return };
    let options = ["--kernel", "debian:standard", "--cpus", "2", "--append", "isolcpus=1", "--json"];
    let measured = |words: &[&str]| {
        let output =
            guest(&options, &[words, &["--samples", "20", "--period", "5ms"]].concat()).output().unwrap();
        if cannot_fetch(&output) {
            return None;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        Some(serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let Some(asked) = measured(&["cyclic", "--cpus", "1"]) else { return };
    assert_eq!(asked["guests"][0]["system"]["allowed"], "0");
    assert_eq!(asked["guests"][0]["system"]["isolated"], "1");
    assert_eq!(asked["results"][0]["in_force"]["cpus"], "1");
    assert_eq!(asked["results"][0]["count"], 20);
    let Some(unasked) = measured(&["cyclic"]) else { return };
    let caveats = unasked["caveats"].as_array().unwrap();
    let told = caveats.iter().find(|one| one["caveat"] == "cpus_not_measured");
    assert_eq!(told.unwrap_or_else(|| panic!("{caveats:?}"))["isolated"], "1");
}

/// The median that the kernel's own tracer finds, in nanoseconds; `None`, with the reason said, where it cannot be asked.
fn timerlat(folder: &Path) -> Option<f64> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guest_timerlat/init.c");
    let program = folder.join("init");
    let compiled = Command::new("cc").args(["-static", "-O1", "-o"]).arg(&program).arg(source).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        skip("needs a C compiler and a static C library");
        return None;
    }
    let options = ["--kernel", "debian:rt", "--cpus", "1", "--program", program.to_str().unwrap()];
    // It is no howlate, so it sends no recording; what it found stands on its console.
    let output = guest(&options, &["cyclic", "--samples", "1"]).output().unwrap();
    if cannot_fetch(&output) {
        return None;
    }
    let said = stderr(&output);
    let line = said.lines().find(|line| line.contains("timerlat ")).unwrap_or_else(|| panic!("{said}"));
    let median = line.split("median ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    Some(median.parse().unwrap())
}

#[test]
fn the_kernels_own_tracer_finds_lateness_of_the_same_order() {
    let Some(_turn) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(theirs) = timerlat(folder.path()) else { return };
    let recording = recording(folder.path());
    let out = ["--kernel", "debian:rt", "--cpus", "1", "--out", recording.to_str().unwrap()];
    // As timerlat's threads are: bound, SCHED_FIFO 95, every 10 ms.
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
    let ours = shown(&recording)["results"][0]["latency_ns"]["p50"].as_f64().unwrap();
    // Not a duration: that one is of the order of the other, on whatever machine.
    assert!(
        theirs > 0.0 && (0.05..20.0).contains(&(ours / theirs)),
        "timerlat {theirs} ns, howlate {ours} ns"
    );
}

#[test]
fn a_guest_that_takes_too_long_to_boot_is_ended() {
    let Some(_turn) = guests() else { return };
    let options = ["--kernel", "debian:cloud", "--boot-deadline", "100ms"];
    let output = guest(&options, &["cyclic", "--samples", "1"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("did not begin to measure within 100ms") && said.contains("--boot-deadline"),
        "{said}"
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
    for (words, says) in rows {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(says), "{words:?}: {}", stderr(&output));
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
