//! Disks that fail during a recording, and recover: results are shown, lost lines are counted and reported. The disk is a FUSE file
//! system that fails on demand.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{
    has_caveat, howlate, is_installed, is_root, read_line_of, run, send, skip, stderr, stdout, wait_until,
};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// Errors of the disk: errno, and the beginning of the kernel's text for it.
const ERRORS: [(u32, &str); 4] = [
    (5, "Input/output error"),
    (28, "No space left on device"),
    (30, "Read-only file system"),
    (122, "Disk quota exceeded"),
];

/// A FUSE disk, unmounted on drop.
struct Disk {
    folder: TempDir,
    server: Child,
}

impl Disk {
    /// `None` where FUSE is unavailable, with the reason printed.
    fn mount() -> Option<Self> {
        if !is_root() || !Path::new("/dev/fuse").exists() || !is_installed("python3") {
            skip("a disk that fails needs root, /dev/fuse and python3");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        fs::write(folder.path().join("faults"), "").unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/misuse/failing_disk.py");
        let mut python = Command::new("python3");
        python.arg(program).arg(folder.path().join("disk")).arg(folder.path().join("faults"));
        let mut disk = Self { folder, server: python.stdout(Stdio::piped()).spawn().unwrap() };
        assert_eq!(read_line_of(&mut disk.server), "mounted\n");
        Some(disk)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("disk").join(name)
    }

    /// Sets the faults from now on: lines such as `write 5`.
    fn answers(&self, faults: &str) {
        let new = self.folder.path().join("new");
        fs::write(&new, faults).unwrap();
        fs::rename(new, self.folder.path().join("faults")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
        drop(Command::new("umount").arg("--lazy").arg(self.at("")).status());
    }
}

/// Measures until the disk has failed, and interrupts the run. Returns its result and that of the recording.
fn measured_while(disk: &Disk, name: &str, faults: &str) -> (Value, Value, PathBuf) {
    let out = disk.at(name);
    let arguments =
        ["cyclic", "--threads", "1", "--duration", "1h", "--json", "--out", out.to_str().unwrap()];
    let child = howlate(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let holds = |text: &str| fs::read_to_string(&out).is_ok_and(|content| content.contains(text));
    wait_until("a block", || holds("\"block\""));
    disk.answers(faults);
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    disk.answers("");
    assert_eq!(output.status.code(), Some(3), "{faults}: {}", stderr(&output));
    let saved = run(&["show", "--format", "json", out.to_str().unwrap()]);
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| panic!("{faults}: {text}"));
    (read(&stdout(&output)), read(&stdout(&saved)), out)
}

/// Number of lost lines, and the reason.
fn lost(result: &Value) -> (u64, String) {
    let caveats = result["caveats"].as_array().unwrap();
    let caveat = caveats.iter().find(|caveat| caveat["caveat"] == "recording_incomplete");
    let caveat = caveat.unwrap_or_else(|| panic!("{result}"));
    (caveat["lines_lost"].as_u64().unwrap(), caveat["reason"].as_str().unwrap().to_owned())
}

#[test]
fn what_a_disk_refuses_is_counted_with_the_reason_and_everything_is_shown() {
    let Some(disk) = Disk::mount() else { return };
    for (number, error_text) in ERRORS {
        let name = format!("{number}.jsonl");
        let (result, saved, _) = measured_while(&disk, &name, &format!("write {number}\n"));
        let (lines, reason) = lost(&result);
        assert!(lines > 0 && reason.contains(error_text), "{lines} {reason}");
        let count = |result: &Value| result["results"][0]["count"].as_u64().unwrap();
        assert!(count(&saved) > 0 && count(&saved) < count(&result), "{saved}");
        assert!(has_caveat(&saved, "no_end"), "{saved}");
    }
}

#[test]
fn what_the_disk_does_not_confirm_is_not_called_written() {
    let Some(disk) = Disk::mount() else { return };
    let (result, _, out) = measured_while(&disk, "a.jsonl", "sync 5\n");
    let (lines, reason) = lost(&result);
    assert!(reason.contains("did not confirm") && reason.contains("Input/output error"), "{reason}");
    // Which lines are on the disk is unknown.
    assert_eq!(lines, fs::read_to_string(out).unwrap().lines().count() as u64);
}

#[test]
fn a_disk_that_refuses_from_the_beginning_is_named_with_what_to_do() {
    let Some(disk) = Disk::mount() else { return };
    let (file, folder) = (disk.at("a.jsonl"), disk.at("kept"));
    let commands = [
        ["cyclic", "--samples", "1", "--out", file.to_str().unwrap()],
        ["record", "--duration", "1s", "--out", folder.to_str().unwrap()],
    ];
    let hints = ["`dmesg`", "make room", "read-only", "quota is used up"];
    for command in commands {
        for ((number, error_text), hint) in ERRORS.into_iter().zip(hints) {
            disk.answers(&format!("create {number}\n"));
            let output = run(&command);
            let message = stderr(&output);
            if command[0] == "record" && !message.contains(error_text) {
                skip(&message);
                break;
            }
            assert_eq!(output.status.code(), Some(2), "{command:?}: {message}");
            assert!(
                message.contains(error_text) && message.contains("hint:") && message.contains(hint),
                "{message}"
            );
        }
    }
}

/// A recorder of the whole machine, with its standard error.
struct DiskRecorder {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

impl DiskRecorder {
    /// `None` where nothing can be recorded, with the reason printed.
    fn start(out: &Path) -> Option<Self> {
        // High enough for few incidents, low enough for some within the test; each minute has a line in any case.
        let arguments = ["record", "--late-above", "20us", "--timelines", "0/h", "--duration", "2m", "--out"];
        let arguments = [&arguments[..], &[out.to_str().unwrap()]].concat();
        let mut child = howlate(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut recorder = Self { child, stderr };
        let started = recorder.line_with("howlate show");
        if started.is_none() {
            recorder.child.wait().unwrap();
            skip("nothing can be recorded here");
        }
        started.map(|_| recorder)
    }

    /// The next line that contains `text`; `None` at the end.
    fn line_with(&mut self, text: &str) -> Option<String> {
        let lines = self.stderr.by_ref().lines().map(Result::unwrap);
        lines.into_iter().find(|line| line.contains(text))
    }

    /// The exit status, and the rest of standard error.
    fn end(mut self) -> (Option<i32>, String) {
        send(self.child.id(), Signal::INT);
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for DiskRecorder {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_recorder_says_at_once_when_its_disk_fails_and_goes_on_when_it_recovers() {
    let Some(disk) = Disk::mount() else { return };
    let (folder, at) = (disk.at("kept"), disk.at("kept").to_str().unwrap().to_owned());
    let Some(mut recorder) = DiskRecorder::start(&folder) else { return };
    disk.answers("write 5\ncreate 5\n");
    let message = recorder.line_with("Lines are being lost").unwrap();
    assert!(message.contains(&at) && message.contains("Input/output error"), "{message}");
    disk.answers("");
    let message = recorder.line_with("can be written to again").unwrap();
    assert!(message.contains(&at) && message.contains(" lost"), "{message}");
    let (status, message) = recorder.end();
    assert_eq!(status, Some(3), "{message}");
    assert!(
        message.contains("could not be written (Input/output error") && message.contains(&at),
        "{message}"
    );
    let result: Value = serde_json::from_slice(&run(&["show", &at, "--json"]).stdout).unwrap();
    assert!(result["missing"]["lines_lost"].as_u64().unwrap() > 0, "{}", result["missing"]);
    // There may be no incident, but there is a line for the minute.
    assert!(!result["groups"].as_array().unwrap().is_empty(), "{result}");
    let text = stdout(&run(&["show", &at]));
    assert!(text.contains("could not be written, as the disk refused them"), "{text}");
}

#[test]
fn a_recorder_whose_disk_confirms_nothing_says_so() {
    let Some(disk) = Disk::mount() else { return };
    let Some(recorder) = DiskRecorder::start(&disk.at("kept")) else { return };
    disk.answers("sync 5\n");
    let (status, message) = recorder.end();
    assert_eq!(status, Some(3), "{message}");
    assert!(message.contains("did not confirm"), "{message}");
}
