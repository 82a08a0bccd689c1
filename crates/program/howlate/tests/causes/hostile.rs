//! Malicious programs of another user: root's recorder goes on, reports nothing false, and executes nothing for them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{NOBODY, howlate, is_installed, is_root, json, skip, wait_until};
use crate::record::{RecorderProcess, place};

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/hostile/recorder.py");

struct AttackedRecorder {
    recorder: RecorderProcess,
    place: PathBuf,
    out: PathBuf,
}

impl AttackedRecorder {
    fn start(folder: &Path, more: &[&str]) -> Self {
        // Any user may enter the folder.
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        let (place, out) = (folder.join("recorder"), folder.join("kept"));
        let arguments = ["record", "--late-above", "1s", "--out", out.to_str().unwrap()];
        let mut command = howlate(&[&arguments[..], more].concat());
        command.env("HOWLATE_RECORDER", &place);
        Self { recorder: RecorderProcess::begin(command), place, out }
    }

    /// Runs the program as the other user, and waits until the recorder has handled its requests.
    fn by(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new("python3");
        command
            .arg("-B")
            .arg(HOSTILE)
            .args(arguments)
            .env("HOWLATE_RECORDER", &self.place)
            .uid(NOBODY)
            .gid(NOBODY);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
        wait_until("it is heard after that", || {
            let snaps = self.show();
            snaps["snaps"]
                .as_array()
                .is_some_and(|all| all.iter().any(|snap| snap["program"]["pid"] == child.id()))
        });
        child
    }

    fn show(&self) -> Value {
        json(&["show", self.out.to_str().unwrap(), "--json"], 0)
    }
}

/// A folder for the tests; `None` where no other user is available.
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
    let mut attacked = AttackedRecorder::start(folder.path(), &[]);
    let attackers = [(); 2].map(|()| attacked.by(&["linger"]));
    attackers.into_iter().for_each(end);
    assert_eq!(attacked.recorder.end(Signal::TERM), Some(0));
}

#[test]
fn a_forged_turn_has_nobody_elses_name_no_hour_and_starts_nothing() {
    let Some((folder, _alone)) = other_users() else { return };
    let started = folder.path().join("started");
    let command = format!("touch {}", started.display());
    let mut attacked = AttackedRecorder::start(folder.path(), &["--on-late", &command, "--on-late", "stop"]);
    let mut victim = Command::new("sleep").arg("1000").spawn().unwrap();
    let child = attacked.by(&["forge", &victim.id().to_string()]);
    let forged = |shown: &Value| {
        let all = shown["incidents"].as_array().unwrap().iter();
        all.filter(|incident| incident["kind"] == "loop").cloned().collect::<Vec<_>>()
    };
    wait_until("what may be told", || forged(&attacked.show()).len() >= 2);
    let own = child.id();
    end(child);
    for incident in forged(&attacked.show()) {
        let thread = &incident["thread"];
        assert_eq!(
            (&thread["pid"], &thread["tid"], &thread["uid"]),
            (&own.into(), &own.into(), &NOBODY.into()),
            "{incident}"
        );
        assert_ne!(thread["process"], "sleep", "{incident}");
        assert!(incident["latency_ns"].as_u64().unwrap() < 20_000_000_000, "{incident}");
    }
    drop((victim.kill(), victim.wait()));
    assert!(!started.exists());
    // It did not end.
    assert_eq!(attacked.recorder.end(Signal::TERM), Some(0));
}

#[test]
fn memory_that_is_not_there_takes_none_of_the_recorders() {
    let Some((folder, _alone)) = other_users() else { return };
    let mut attacked = AttackedRecorder::start(folder.path(), &[]);
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
    let missing = &attacked.show()["missing"];
    assert!(
        missing["loops_left_out"].as_u64().unwrap() > 0 && missing["turns_lost"].as_u64().unwrap() > 0,
        "{missing}"
    );
}
