//! The cgroup freezer stops howlate or the watched program: nothing hangs, and the gap is reported without blaming any thread.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{
    build_c, has_bpf, has_caveat, howlate, pause, run, send, show_json, skip, stderr, stdout, wait_until,
};
use howlate_linux::clock;
use howlate_procfs::{Mounts, Root};
use rustix::process::Signal;
use serde_json::Value;

/// Length of the freeze in ms.
const FREEZE_MS: u64 = 600;

/// A control group of a test; thawed and removed on drop.
struct FreezerGroup(PathBuf);

impl FreezerGroup {
    /// `None` where no group can be made, with the reason printed.
    fn new(name: &str) -> Option<Self> {
        let mounts = Mounts::read(&Root::live());
        let unified = mounts.find(|mount| mount.kind == "cgroup2").map(|mount| mount.point.clone());
        let path =
            Path::new(&unified.unwrap_or_default()).join(format!("howlate-{name}-{}", std::process::id()));
        if fs::create_dir(&path).is_err() || !path.join("cgroup.freeze").exists() {
            skip("no control group that could be frozen can be made here");
            return None;
        }
        Some(Self(path))
    }

    /// A command that starts in the group.
    fn within(&self, program: &str, arguments: &[&str]) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$1\"; shift; exec \"$@\"", "sh"]);
        shell.arg(self.0.join("cgroup.procs")).arg(program).args(arguments).env("COLUMNS", "100");
        shell
    }

    fn howlate(&self, arguments: &[&str]) -> Command {
        let mut command = self.within(env!("CARGO_BIN_EXE_howlate"), arguments);
        // A history of runs of its own.
        command.env("XDG_DATA_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/data"));
        command
    }

    fn set(&self, freeze: &str) {
        fs::write(self.0.join("cgroup.freeze"), freeze).unwrap();
    }

    /// Freezes the group for a while; returns the least length of the freeze in ns.
    fn freeze_for_a_while(&self) -> i64 {
        self.set("1");
        let is_frozen = || fs::read_to_string(self.0.join("cgroup.events")).unwrap().contains("frozen 1");
        wait_until("a frozen group", is_frozen);
        let since = clock::now();
        pause(FREEZE_MS);
        let all = clock::now().since(since);
        self.set("0");
        i64::try_from(all.as_nanos()).unwrap()
    }

    /// Whether the kernel counts the time that groups are frozen.
    fn is_counted(&self) -> bool {
        let counts = fs::read_to_string(self.0.join("cgroup.stat.local"));
        let is_counted = counts.is_ok_and(|text| text.contains("frozen_usec"));
        if !is_counted {
            skip("this kernel does not count for how long groups are frozen (Linux 6.18)");
        }
        is_counted
    }
}

impl Drop for FreezerGroup {
    fn drop(&mut self) {
        drop(fs::write(self.0.join("cgroup.kill"), "1"));
        drop(fs::write(self.0.join("cgroup.freeze"), "0"));
        wait_until("an empty group", || fs::remove_dir(&self.0).is_ok() || !self.0.exists());
    }
}

fn wait_for(out: &Path, text: &str) {
    wait_until(text, || fs::read_to_string(out).is_ok_and(|content| content.contains(text)));
}

#[test]
fn a_frozen_measurement_goes_on_and_ends_when_it_is_told_to() {
    let Some(group) = FreezerGroup::new("own") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (number, arguments) in [
        "cyclic --threads 1 --duration 1h",
        "sleep --for 1ms --duration 1h",
        "notify --mechanism futex --after 1ms --duration 1h",
        "cyclic --threads 1 --duration 1h --load cpu:20%",
    ]
    .into_iter()
    .enumerate()
    {
        let out = folder.path().join(format!("{number}.jsonl"));
        let all = [arguments, "--quiet --out", out.to_str().unwrap()].join(" ");
        let all: Vec<&str> = all.split(' ').collect();
        let child = group.howlate(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(&out, "\"block\"");
        let stood_still = group.freeze_for_a_while();
        send(child.id(), Signal::INT);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments}: {}", stderr(&output));
        let result = show_json(&out);
        assert_eq!(result["ended"], "interrupted", "{arguments}");
        let latest =
            result["results"].as_array().unwrap().iter().map(|result| result["latency_ns"]["max"].as_i64());
        // A wake-up may fall up to one period before the freeze; messages are not sent meanwhile.
        let is_there = latest.flatten().max().unwrap() >= stood_still - 2_000_000;
        assert!(is_there || arguments.starts_with("notify"), "{arguments}: {result}");
        assert!(
            !group.is_counted() || has_caveat(&result, "group_frozen"),
            "{arguments}: {}",
            result["caveats"]
        );
    }
}

/// A loop with a period of 5 ms that catches up after a delay.
const CATCHES_UP: &str = r#"
#include <stdio.h>
#include <time.h>
int main(void) {
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    puts("begun");
    fflush(stdout);
    for (;;) {
        next.tv_nsec += 5000000;
        if (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}
"#;

/// A program in a group; killed on drop.
struct FrozenProgram(Child);

impl FrozenProgram {
    fn start(group: &FreezerGroup, folder: &Path) -> Option<Self> {
        let (source, program) = (folder.join("p.c"), folder.join("catches-up"));
        fs::write(&source, CATCHES_UP).unwrap();
        build_c(&source, &program, &["-O1"])?;
        let mut command = group.within(program.to_str().unwrap(), &[]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        Some(Self(child))
    }
}

impl Drop for FrozenProgram {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Total time of one kind of cause, in ns.
fn caused_by(result: &Value, kind: &str) -> u64 {
    let all = result["results"].as_array().unwrap().iter();
    let causes = all.flat_map(|result| result["why"]["causes"].as_array().cloned().unwrap_or_default());
    causes.filter(|cause| cause["kind"] == kind).map(|cause| cause["late_ns"].as_u64().unwrap()).sum()
}

#[test]
fn a_program_that_was_frozen_is_not_called_busy() {
    let Some(group) = FreezerGroup::new("watched") else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(running) = FrozenProgram::start(&group, folder.path()) else { return };
    if !has_bpf() {
        return;
    }
    let out = folder.path().join("a.jsonl");
    let pid = running.0.id().to_string();
    let arguments = ["watch", "--quiet", "--tracer", "bpf", "--out", out.to_str().unwrap(), &pid];
    let child = howlate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&out, "\"block\"");
    let stood_still = group.freeze_for_a_while();
    // It has caught up once it sleeps for a future time.
    pause(500);
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = show_json(&out);
    let (stopped, busy) = (caused_by(&result, "stopped"), caused_by(&result, "late_arming"));
    let at_least = u64::try_from(stood_still).unwrap();
    assert!(stopped >= at_least && stopped > 2 * busy, "{stopped} {busy}: {result}");
    assert!(!group.is_counted() || has_caveat(&result, "group_frozen"), "{}", result["caveats"]);
    let text = stdout(&run(&["show", out.to_str().unwrap()]));
    assert!(text.contains("stopped or frozen"), "{text}");
}

#[test]
fn a_frozen_watcher_and_a_frozen_recorder_go_on_and_end_when_they_are_told_to() {
    let Some(group) = FreezerGroup::new("watchers") else { return };
    if !has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sleeper = howlate(&["sleep", "--for", "1ms", "--duration", "1h", "--quiet", "--no-save"])
        .stdout(Stdio::null())
        .spawn()
        .map(FrozenProgram)
        .unwrap();
    let (pid, record_folder) = (sleeper.0.id().to_string(), folder.path().join("kept"));
    let watched = folder.path().join("a.jsonl");
    let output_path = folder.path().join("said");
    let rows = [
        (vec!["watch", "--quiet", "--out", watched.to_str().unwrap(), &pid], &watched, "\"block\""),
        (
            vec!["record", "--late-above", "20us", "--out", record_folder.to_str().unwrap()],
            &output_path,
            "howlate show",
        ),
        (vec!["top", "--json", "--interval", "200ms"], &output_path, "\n"),
        (vec!["serve", "--listen", "127.0.0.1:0", "--process", &pid], &output_path, "page"),
    ];
    for (arguments, place, ready_text) in rows {
        let to = fs::File::create(&output_path).unwrap();
        let mut child = group.howlate(&arguments).stdout(to.try_clone().unwrap()).stderr(to).spawn().unwrap();
        wait_for(place, ready_text);
        group.freeze_for_a_while();
        send(child.id(), Signal::INT);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{arguments:?}: {}", fs::read_to_string(&output_path).unwrap());
    }
    let result = show_json(&watched);
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0, "{result}");
    assert!(!group.is_counted() || has_caveat(&result, "group_frozen"), "{}", result["caveats"]);
}
