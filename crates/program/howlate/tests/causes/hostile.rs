//! Programs of another user that mean harm to root's recorder: it goes on, says nothing that is not so, and obeys none of them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{howlate, is_installed, is_root, json, skip, wait_until};
use crate::record::{Recorder, place};

const NOBODY: u32 = 65_534;
const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/hostile/recorder.py");

struct Attacked {
    recorder: Recorder,
    place: PathBuf,
    out: PathBuf,
}

impl Attacked {
    fn start(folder: &Path, more: &[&str]) -> Self {
        // Anybody may go through.
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        let (place, out) = (folder.join("recorder"), folder.join("kept"));
        let words = ["record", "--late-above", "1s", "--out", out.to_str().unwrap()];
        let mut command = howlate(&[&words[..], more].concat());
        command.env("HOWLATE_RECORDER", &place);
        Self { recorder: Recorder::begin(command), place, out }
    }

    /// The program has done it, and the recorder has heard what it asked for after that.
    fn by(&self, words: &[&str]) -> Child {
        let mut command = Command::new("python3");
        command
            .arg("-B")
            .arg(HOSTILE)
            .args(words)
            .env("HOWLATE_RECORDER", &self.place)
            .uid(NOBODY)
            .gid(NOBODY);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        wait_until("it is heard after that", || {
            let snaps = self.shown();
            snaps["snaps"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["program"]["pid"] == child.id()))
        });
        child
    }

    fn shown(&self) -> Value {
        json(&["show", self.out.to_str().unwrap(), "--json"], 0)
    }
}

/// A folder for it; `None` where nobody else can be had.
fn other_users() -> Option<(tempfile::TempDir, impl Drop)> {
    if !is_root() || !is_installed("python3") {
        skip("an attack of another user takes root, and python3");
        return None;
    }
    place()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn nobody_keeps_a_recorder_waiting_with_a_file_whose_end_waits() {
    let Some((folder, _alone)) = other_users() else { return };
    let mut attacked = Attacked::start(folder.path(), &[]);
    let attackers = [(); 2].map(|()| attacked.by(&["linger"]));
    attackers.into_iter().for_each(end);
    assert_eq!(attacked.recorder.end(Signal::TERM), Some(0));
}

#[test]
fn a_forged_turn_has_nobody_elses_name_no_hour_and_starts_nothing() {
    let Some((folder, _alone)) = other_users() else { return };
    let started = folder.path().join("started");
    let command = format!("touch {}", started.display());
    let mut attacked = Attacked::start(folder.path(), &["--on-late", &command, "--on-late", "stop"]);
    let mut victim = Command::new("sleep").arg("1000").spawn().unwrap();
    let child = attacked.by(&["forge", &victim.id().to_string()]);
    let forged = |shown: &Value| {
        let all = shown["incidents"].as_array().unwrap().iter();
        all.filter(|one| one["kind"] == "loop").cloned().collect::<Vec<_>>()
    };
    wait_until("what may be told", || forged(&attacked.shown()).len() >= 2);
    let own = child.id();
    end(child);
    for one in forged(&attacked.shown()) {
        let thread = &one["thread"];
        assert_eq!(
            (&thread["pid"], &thread["tid"], &thread["uid"]),
            (&own.into(), &own.into(), &NOBODY.into()),
            "{one}"
        );
        assert_ne!(thread["process"], "sleep", "{one}");
        assert!(one["latency_ns"].as_u64().unwrap() < 20_000_000_000, "{one}");
    }
    drop((victim.kill(), victim.wait()));
    assert!(!started.exists());
    // It was not stopped by any of them.
    assert_eq!(attacked.recorder.end(Signal::TERM), Some(0));
}

#[test]
fn memory_that_is_not_there_takes_none_of_the_recorders() {
    let Some((folder, _alone)) = other_users() else { return };
    let mut attacked = Attacked::start(folder.path(), &[]);
    let child = attacked.by(&["sparse"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", attacked.recorder.id())).unwrap();
    let kilobytes = |name: &str| -> u64 {
        let line =
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{status}"));
        line.trim_end_matches(" kB").trim().parse().unwrap()
    };
    // 64 programs with 64 rings each have half a gigabyte.
    assert!(kilobytes("RssShmem:") < 32 << 10, "{status}");
    end(child);
    assert_eq!(attacked.recorder.end(Signal::TERM), Some(0));
    let missing = &attacked.shown()["missing"];
    assert!(
        missing["loops_left_out"].as_u64().unwrap() > 0 && missing["turns_lost"].as_u64().unwrap() > 0,
        "{missing}"
    );
}
