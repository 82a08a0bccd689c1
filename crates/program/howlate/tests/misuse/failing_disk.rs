//! Disks that fail while they are written to, and recover: what was measured is kept or shown, what is lost is counted, and
//! whoever reads it is told why. The disk is a file system in user space that fails as it is told to.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{
    has_caveat, howlate, is_installed, is_root, line_of, run, send, skip, stderr, stdout, wait_until,
};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// What a disk answers, as errno(3) numbers it, and what the kernel's words for it begin with.
const ANSWERS: [(u32, &str); 4] = [
    (5, "Input/output error"),
    (28, "No space left on device"),
    (30, "Read-only file system"),
    (122, "Disk quota exceeded"),
];

/// A disk; unmounted when dropped.
struct Disk {
    folder: TempDir,
    server: Child,
}

impl Disk {
    /// `None`, with the reason said, where none can be had.
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
        assert_eq!(line_of(&mut disk.server), "mounted\n");
        Some(disk)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("disk").join(name)
    }

    /// From now on it answers so to what is asked: `write 5`, a line for each.
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

/// A measurement that writes to the disk until that answers so, and is ended then: its result, and what is in the file.
fn measured_while(disk: &Disk, name: &str, faults: &str) -> (Value, Value, PathBuf) {
    let out = disk.at(name);
    let words = ["cyclic", "--threads", "1", "--duration", "1h", "--json", "--out", out.to_str().unwrap()];
    let child = howlate(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let holds = |text: &str| fs::read_to_string(&out).is_ok_and(|content| content.contains(text));
    wait_until("a block", || holds("\"block\""));
    disk.answers(faults);
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    disk.answers("");
    assert_eq!(output.status.code(), Some(3), "{faults}: {}", stderr(&output));
    let kept = run(&["show", "--format", "json", out.to_str().unwrap()]);
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| panic!("{faults}: {text}"));
    (read(&stdout(&output)), read(&stdout(&kept)), out)
}

/// The lines that are said to be lost, and why.
fn lost(result: &Value) -> (u64, String) {
    let caveats = result["caveats"].as_array().unwrap();
    let one = caveats.iter().find(|one| one["caveat"] == "recording_incomplete");
    let one = one.unwrap_or_else(|| panic!("{result}"));
    (one["lines_lost"].as_u64().unwrap(), one["reason"].as_str().unwrap().to_owned())
}

#[test]
fn what_a_disk_refuses_is_counted_with_the_reason_and_everything_is_shown() {
    let Some(disk) = Disk::mount() else { return };
    for (number, words) in ANSWERS {
        let name = format!("{number}.jsonl");
        let (result, kept, _) = measured_while(&disk, &name, &format!("write {number}\n"));
        let (lines, reason) = lost(&result);
        assert!(lines > 0 && reason.contains(words), "{lines} {reason}");
        let count = |result: &Value| result["results"][0]["count"].as_u64().unwrap();
        assert!(count(&kept) > 0 && count(&kept) < count(&result), "{kept}");
        assert!(has_caveat(&kept, "no_end"), "{kept}");
    }
}

#[test]
fn what_the_disk_does_not_confirm_is_not_called_written() {
    let Some(disk) = Disk::mount() else { return };
    let (result, _, out) = measured_while(&disk, "a.jsonl", "sync 5\n");
    let (lines, reason) = lost(&result);
    assert!(reason.contains("did not confirm") && reason.contains("Input/output error"), "{reason}");
    // Which of them it has, nobody knows.
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
        for ((number, words), hint) in ANSWERS.into_iter().zip(hints) {
            disk.answers(&format!("create {number}\n"));
            let output = run(&command);
            let said = stderr(&output);
            if command[0] == "record" && !said.contains(words) {
                skip(&said);
                break;
            }
            assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
            assert!(said.contains(words) && said.contains("hint:") && said.contains(hint), "{said}");
        }
    }
}

/// A recorder of the whole machine, and what it says.
struct Recorder {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Recorder {
    /// `None`, with the reason said, where nothing can be recorded.
    fn start(out: &Path) -> Option<Self> {
        // Late enough to be rare, and often enough to come while this waits; a minute has a line in any case.
        let words = ["record", "--late-above", "20us", "--at-most", "0/h", "--duration", "2m", "--out"];
        let words = [&words[..], &[out.to_str().unwrap()]].concat();
        let mut child = howlate(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut recorder = Self { child, said };
        let begun = recorder.line_with("howlate show");
        if begun.is_none() {
            recorder.child.wait().unwrap();
            skip("nothing can be recorded here");
        }
        begun.map(|_| recorder)
    }

    /// The next line with these words; `None` at the end.
    fn line_with(&mut self, words: &str) -> Option<String> {
        let lines = self.said.by_ref().lines().map(Result::unwrap);
        lines.into_iter().find(|line| line.contains(words))
    }

    /// The exit status, and what else it says.
    fn end(mut self) -> (Option<i32>, String) {
        send(self.child.id(), Signal::INT);
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_recorder_says_at_once_when_its_disk_fails_and_goes_on_when_it_recovers() {
    let Some(disk) = Disk::mount() else { return };
    let (folder, at) = (disk.at("kept"), disk.at("kept").to_str().unwrap().to_owned());
    let Some(mut recorder) = Recorder::start(&folder) else { return };
    disk.answers("write 5\ncreate 5\n");
    let said = recorder.line_with("Lines are being lost").unwrap();
    assert!(said.contains(&at) && said.contains("Input/output error"), "{said}");
    disk.answers("");
    let said = recorder.line_with("can be written to again").unwrap();
    assert!(said.contains(&at) && said.contains(" lost"), "{said}");
    let (status, said) = recorder.end();
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("could not be written (Input/output error") && said.contains(&at), "{said}");
    let result: Value = serde_json::from_slice(&run(&["show", &at, "--json"]).stdout).unwrap();
    assert!(result["missing"]["lines_lost"].as_u64().unwrap() > 0, "{}", result["missing"]);
    // Whether there is an incident besides is up to the machine; the last minute is there in any case.
    assert!(!result["groups"].as_array().unwrap().is_empty(), "{result}");
    let text = stdout(&run(&["show", &at]));
    assert!(text.contains("could not be written, as the disk refused them"), "{text}");
}

#[test]
fn a_recorder_whose_disk_confirms_nothing_says_so() {
    let Some(disk) = Disk::mount() else { return };
    let Some(recorder) = Recorder::start(&disk.at("kept")) else { return };
    disk.answers("sync 5\n");
    let (status, said) = recorder.end();
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("did not confirm"), "{said}");
}
