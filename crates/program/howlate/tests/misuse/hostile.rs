//! Malicious or damaged input: no panic, bounded memory, no silent errors.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{is_root, skip, stderr, stdout};
use tempfile::TempDir;

/// Runs the program with at most 256 MiB of address space.
fn run(arguments: &[&OsStr]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 262144; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")]);
    command.args(arguments).env("COLUMNS", "100").output().unwrap()
}

#[track_caller]
fn ends(arguments: &[&dyn AsRef<OsStr>], status: i32, says: &str) -> Output {
    let arguments: Vec<&OsStr> = arguments.iter().map(|argument| argument.as_ref()).collect();
    let output = run(&arguments);
    let message = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    assert!(message.replace('\n', " ").contains(says), "{arguments:?} says: {message}");
    output
}

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(recording(name)).unwrap()
}

/// A file with this content, and its temporary folder.
fn file(content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

#[test]
fn a_device_that_never_ends_is_refused() {
    for command in ["show", "report", "compare"] {
        ends(&[&command, &"/dev/zero", &"/dev/zero"], 2, "longer than 8 MiB");
    }
    ends(&[&"run", &"/dev/zero", &"--dry-run"], 2, "longer than 1 MiB");
}

#[test]
fn numbers_that_no_machine_can_hold_are_refused_or_estimated() {
    for samples in ["20000000000000000", "18446744073709551615"] {
        ends(&[&"sleep", &"--samples", &samples], 2, "fewer `--rounds`, fewer `--samples`");
        ends(&[&"notify", &"--samples", &samples], 2, "fewer `--rounds`, fewer `--samples`");
        let (_folder, plan) = file("[[sleep]]\nfor = \"1ms\"\n");
        ends(&[&"run", &plan, &"--dry-run", &"--samples", &samples], 2, "turns of threads");
        let (_folder, plan) = file("[[cyclic]]\nperiod = \"1ms\"\n");
        ends(&[&"run", &plan, &"--dry-run", &"--samples", &samples], 0, "5124095 h");
    }
}

#[test]
fn a_path_need_not_be_unicode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"caf\xe9.jsonl"));
    std::fs::copy(recording("cyclic.jsonl"), &path).unwrap();
    ends(&[&"show", &path], 0, "cyclic");
    ends(&[&"compare", &path, &path], 3, "caf");
    ends(&[&"report", &path, &"--format", &"md"], 0, "cyclic");
    ends(&[&"show", &folder.path().join(OsStr::from_bytes(b"\xff"))], 2, "cannot read");
    let plan = folder.path().join(OsStr::from_bytes(b"\xe9.toml"));
    std::fs::write(&plan, "[[sleep]]\n").unwrap();
    ends(&[&"run", &plan, &"--dry-run"], 0, "conditions");
    let root = folder.path().join(OsStr::from_bytes(b"tree\xe9"));
    std::fs::create_dir(&root).unwrap();
    ends(&[&"doctor", &"--root", &root], 0, "");
    let word = OsString::from(OsStr::from_bytes(b"--\xff"));
    ends(&[&word], 2, "");
    ends(&[&"sleep", &"--for", &OsStr::from_bytes(b"\xff")], 2, "");
    let record_folder = folder.path().join(OsStr::from_bytes(b"kept\xff"));
    ends(&[&"record", &"--install", &"--out", &record_folder], 2, "is not an absolute path below a folder");
    // Without the permission to record, the hint quotes the path.
    let command_line = ["record", "--duration", "50ms", "--out"].map(OsStr::new);
    let recorded = run(&[&command_line[..], &[record_folder.as_os_str()]].concat());
    let message = stderr(&recorded);
    assert!(matches!(recorded.status.code(), Some(0 | 2)) && !message.contains("panicked"), "{message}");
}

#[test]
fn a_plan_cannot_include_without_end() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..31 {
        let next = format!("include = [\"{0}.toml\", \"./{0}.toml\"]\n", number + 1);
        std::fs::write(folder.path().join(format!("{number}.toml")), next).unwrap();
    }
    std::fs::write(folder.path().join("31.toml"), "[[sleep]]\n").unwrap();
    ends(&[&"run", &folder.path().join("0.toml"), &"--dry-run"], 2, "at most 256 may be included");
}

#[test]
fn what_contradicts_itself_is_damaged() {
    let whole = text("cyclic.jsonl");
    for (from, to) in [
        ("\"min_ns\":", "\"min_ns\":9"),
        ("\"max_ns\":", "\"max_ns\":-"),
        ("\"sum_ns\":", "\"sum_ns\":-"),
        ("\"sum_ns\":", "\"sum_ns\":170141183460469231731687303715884105"),
        ("\"count\":", "\"count\":9"),
        ("\"from_ns\":", "\"from_ns\":-9223372036854775808,\"x\":"),
    ] {
        let (_folder, path) = file(whole.replacen(from, to, 1));
        for command in ["show", "compare", "report"] {
            ends(&[&command, &path, &path], 2, "damaged");
        }
    }
}

#[test]
fn two_recordings_in_one_file_are_told_apart() {
    let (_folder, path) = file(text("cyclic.jsonl") + &text("sleep.jsonl"));
    let lines = text("cyclic.jsonl").lines().count() + 1;
    let says = format!("Another recording begins on line {lines}");
    let both = ends(&[&"show", &path], 3, &says);
    let first = run(&["show".as_ref(), recording("cyclic.jsonl").as_ref()]);
    // Only the first recording is read.
    let tables = |output: &Output| stdout(output).split("! ").next().unwrap_or_default().to_owned();
    assert_eq!(tables(&both), tables(&first));
    ends(&[&"report", &path, &"--format", &"md"], 3, "Another recording begins");
    ends(&[&"compare", &path, &path], 3, "");
}

#[test]
fn a_block_of_an_unknown_condition_does_not_vanish() {
    let (_folder, path) =
        file(text("cyclic.jsonl").replacen("{\"block\":{\"condition\":0", "{\"block\":{\"condition\":77", 1));
    ends(&[&"show", &path], 3, "about conditions that it does not list");
    ends(&[&"show", &path, &"--format", &"json"], 3, "unknown_conditions");
}

#[test]
fn a_stack_of_64_kb_is_enough() {
    let (_folder, path) = file(text("cyclic.jsonl"));
    let all: [&[&OsStr]; 4] = [
        &["--help".as_ref()],
        &["show".as_ref(), path.as_ref()],
        &["report".as_ref(), path.as_ref(), "--format".as_ref(), "md".as_ref()],
        &["load".as_ref(), "hackbench".as_ref(), "--duration".as_ref(), "100ms".as_ref()],
    ];
    for command_line in all {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -s 64; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")])
            .args(command_line);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command_line:?}: {}", stderr(&output));
    }
}

#[test]
fn where_there_is_no_proc_that_is_said() {
    if !is_root() {
        return skip("hiding /proc takes root");
    }
    for command_line in [&["top"][..], &["watch", "1"]] {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c"]);
        command.args(["mount -t tmpfs none /proc && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")]);
        let output = command.args(command_line).output().unwrap();
        let message = stderr(&output).replace('\n', " ");
        if message.contains("unshare") || message.contains("mount:") {
            return skip(&format!("/proc cannot be hidden here: {message}"));
        }
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains("there is no /proc") && message.contains("`mount -t proc proc /proc`"),
            "{message}"
        );
        assert!(!message.contains("run as root"), "{message}");
    }
}
