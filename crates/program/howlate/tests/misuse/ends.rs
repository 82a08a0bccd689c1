//! Results survive every end of a run.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{
    Background, build_c, children, has_caveat, is_root, run, show_json, skip, stderr, stdout, wait_until,
};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn an_interrupt_ends_in_order_and_keeps_the_result() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "1h"]);
        run.wait_for("\"block\"");
        run.signal(signal);
        let output = run.output();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stdout(&output).contains("interrupted"), "{}", stdout(&output));
        let result = show_json(&run.recording);
        assert_eq!(result["ended"], "interrupted");
        assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    }
}

#[test]
fn threads_in_a_long_wait_are_woken_to_end() {
    let mut run = Background::start(&["cyclic", "--threads", "2", "--period", "1h", "--duration", "10h"]);
    run.signal(Signal::INT);
    let output = run.output();
    let result = show_json(&run.recording);
    assert_eq!(result["ended"], "interrupted");
    assert!(!has_caveat(&result, "unfinished"), "{}", stdout(&output));
}

#[test]
fn a_killed_run_leaves_a_readable_recording() {
    let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "1h"]);
    run.wait_for("\"block\"");
    run.signal(Signal::KILL);
    run.output();
    let result = show_json(&run.recording);
    assert_eq!(result["ended"], Value::Null);
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(has_caveat(&result, "no_end") || has_caveat(&result, "recording_cut_off"));
}

// time      0 s                           3 s
//           |-----------|XXXXXXXX|------------|     X: stopped by this test
// wake-ups                none                      the first one after the stop is late by the length of the stop
#[test]
fn a_stall_is_never_hidden() {
    const PERIOD: i64 = 1_000_000;
    let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "3s", "--json"]);
    run.wait_for("\"block\"");
    run.signal(Signal::STOP);
    run.wait_until_stopped();
    let stopped = howlate_linux::clock::now();
    crate::common::pause(500);
    let stall = i64::try_from(howlate_linux::clock::now().since(stopped).as_nanos()).unwrap();
    run.signal(Signal::CONT);
    let output = run.output();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stalled = &result["results"][0];
    let mean = |field: &str| stalled[field]["mean"].as_f64().unwrap();
    // The stop may begin up to one period after the last wake-up.
    let missed = stalled["missed_periods"].as_i64().unwrap();
    assert!(missed >= stall / PERIOD - 1, "{missed} periods missed in {stall} ns");
    assert!(stalled["latency_ns"]["max"].as_i64().unwrap() >= stall - PERIOD, "{stalled}");
    // With correction the stall counts as all its missed wake-ups.
    assert!(mean("corrected_ns") > mean("latency_ns"), "{stalled}");
    assert_eq!(stalled["corrected_ns"]["max"], stalled["latency_ns"]["max"]);
    assert_eq!(show_json(&run.recording)["results"], result["results"]);
}

#[test]
fn signals_in_a_row_are_one_request() {
    // As `timeout` does: to the process and again to its group; and a closed terminal.
    for signals in [[Signal::TERM, Signal::TERM, Signal::CONT], [Signal::HUP, Signal::HUP, Signal::TERM]] {
        let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "1h", "--json"]);
        run.wait_for("\"block\"");
        signals.into_iter().for_each(|signal| run.signal(signal));
        let output = run.output();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["ended"], "interrupted");
        assert_eq!(show_json(&run.recording)["results"], result["results"]);
    }
}

#[test]
fn a_terminal_that_closes_leaves_a_whole_recording() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.jsonl");
    let program = env!("CARGO_BIN_EXE_howlate");
    let command = format!("exec {program} cyclic --threads 1 --duration 1h --out {}", out.display());
    // `script` opens a terminal, and closes it when it is killed.
    let script = Command::new("script")
        .args(["-qfec", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let Ok(mut script) = script else { return skip("script (util-linux) is not installed") };
    let says = |text: &str| std::fs::read_to_string(&out).is_ok_and(|content| content.contains(text));
    crate::common::wait_until("a block", || says("\"block\""));
    script.kill().unwrap();
    script.wait().unwrap();
    crate::common::wait_until("the end of the recording", || says("\"end\""));
    assert_eq!(show_json(&out)["ended"], "interrupted");
}

#[test]
fn a_limit_on_the_size_of_files_stops_the_recording_not_the_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.jsonl");
    let arguments = [
        "sleep",
        "--for",
        "10us",
        "--samples",
        "20000",
        "--rounds",
        "20",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ];
    // In units of 512 bytes.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 100; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")]).args(arguments);
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"][0]["count"], 20_000);
    assert!(has_caveat(&result, "recording_incomplete"));
    assert!(show_json(&out)["results"][0]["count"].as_u64().unwrap() > 0);
}

#[test]
fn a_recording_that_a_full_disk_cut_does_not_pass_for_a_whole_one() {
    if !is_root() {
        return skip("a small disk takes root");
    }
    let folder = tempfile::tempdir().unwrap();
    // Room for the first line about the machine, and a page or two.
    let script = "$1 cyclic --duration 1s --quiet --no-save --out $2/whole > $2/text
        size=$(($(head -n 1 $2/whole | wc -c) / 4096 * 4096 + 8192))
        mount -t tmpfs -o size=$size none $2 && $1 cyclic --duration 1s --out $2/a; $1 show $2/a";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    let output = command.arg(env!("CARGO_BIN_EXE_howlate")).arg(folder.path()).output().unwrap();
    let message = stderr(&output);
    if message.contains("unshare") || message.contains("mount:") {
        return skip(&format!("a small disk cannot be had here: {message}"));
    }
    let message = stdout(&output);
    // The run reports the lost lines; the recording has a second report, or no end.
    let lost = message.matches("could not be written to the recording").count();
    assert!(lost == 2 || (lost == 1 && message.contains("has no end")), "{message}");
}

fn pipe(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    path
}

#[test]
fn a_recordings_reader_that_leaves_costs_the_recording_not_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(&folder);
    let arguments = [
        "cyclic",
        "--threads",
        "1",
        "--duration",
        "2500ms",
        "--json",
        "--quiet",
        "--out",
        path.to_str().unwrap(),
    ];
    let child =
        crate::common::howlate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It closes the pipe after the first bytes.
    let mut first = [0; 10];
    std::fs::File::open(&path).unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(has_caveat(&result, "recording_incomplete"), "{result}");
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
}

#[test]
fn a_pipe_that_nobody_reads_is_not_waited_for_after_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(&folder);
    let arguments =
        ["cyclic", "--threads", "1", "--duration", "1h", "--quiet", "--out", path.to_str().unwrap()];
    let child =
        crate::common::howlate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 == 2
    };
    crate::common::wait_until("a handler for SIGINT", handles);
    crate::common::send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("nobody reads it"), "{}", stderr(&output));
}

#[test]
fn a_reader_of_the_result_that_leaves_ends_it_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.jsonl");
    let arguments = ["sleep", "--for", "1ms", "--samples", "1", "--quiet", "--out", out.to_str().unwrap()];
    let mut child =
        crate::common::howlate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(141), ""));
    assert_eq!(show_json(&out)["results"][0]["count"], 1);
}

/// A file system of 64 KiB, unmounted on drop.
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
    let saved = show_json(&path);
    let count = saved["results"][0]["count"].as_u64().unwrap();
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
        let output = run(&["show", "--format", "json", cut.to_str().unwrap()]);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let measured = result["results"].as_array().unwrap().iter().any(|result| result["count"] != 0);
        assert_eq!(output.status.code(), Some(if measured { 0 } else { 3 }), "{length}");
        assert!(has_caveat(&result, "no_end") || has_caveat(&result, "recording_cut_off"), "{length}");
    }
}

/// Runs another program with a filter that makes `kill(2)` fail with EPERM.
const WITHOUT_KILL: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { 4, rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 77;
    execv(argv[1], argv + 1);
    return 78;
}
"#;

#[test]
fn a_load_ends_with_its_run_also_where_it_may_not_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("without.c"), folder.path().join("without"));
    std::fs::write(&source, WITHOUT_KILL).unwrap();
    if build_c(&source, &program, &[]).is_none() {
        return;
    }
    let arguments = ["cyclic", "--load", "cpu", "--threads", "1", "--duration", "1h", "--no-save", "--quiet"];
    let mut run = Command::new(&program)
        .arg(env!("CARGO_BIN_EXE_howlate"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let helper = || children(run.id()).into_iter().find(|(_, role)| role == "__load").map(|(pid, _)| pid);
    wait_until("a load", || helper().is_some_and(|helper| !children(helper).is_empty()));
    let all: Vec<u32> = helper()
        .into_iter()
        .flat_map(|helper| children(helper).into_iter().map(|(pid, _)| pid).chain([helper]))
        .collect();
    run.kill().unwrap();
    run.wait().unwrap();
    // A zombie may remain until its new parent reaps it.
    let runs = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    wait_until("an end of the load", || !all.iter().any(runs));
}
