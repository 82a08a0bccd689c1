//! `--export-json` and `--export-markdown`: the result in files, beside what is printed.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{howlate, is_root, run, skip, stderr, stdout};

/// A measurement of each kind that has the options.
const MEASURE: [&[&str]; 3] = [
    &["cyclic", "--threads", "1", "--samples", "20"],
    &["sleep", "1ms", "--samples", "20"],
    &["notify", "--mechanism", "pipe", "--samples", "20", "--rounds", "1"],
];

fn within(folder: &Path, arguments: &[&str]) -> Output {
    howlate(arguments).current_dir(folder).output().unwrap()
}

/// The files contain the printed result, and that of `howlate report`.
#[test]
fn files_hold_what_is_printed_and_what_report_makes_of_the_run() {
    for measure in MEASURE.iter().copied().chain([["run", "plan.toml"].as_slice()]) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("plan.toml"), "[[cyclic]]\nthreads = 1\nsamples = 20\n").unwrap();
        fs::write(folder.join("a.json"), "before, and much longer ".repeat(10_000)).unwrap();
        let files = ["--out", "r.jsonl", "--export-json", "a.json", "--export-markdown", "a.md"];
        let output = within(folder, &[measure, &["--json", "--quiet"], &files].concat());
        assert!(matches!(output.status.code(), Some(0 | 3)), "{measure:?} {}", stderr(&output));
        let read = |name| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("a.json"), stdout(&output), "{measure:?}");
        let report = within(folder, &["report", "r.jsonl", "--format", "md"]);
        assert_eq!(read("a.md"), stdout(&report), "{measure:?}");
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["a.json", "a.md", "plan.toml", "r.jsonl"], "nothing else is left");
        let mode = folder.join("a.json").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }
}

#[test]
fn a_pipe_gets_the_result_and_stays_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let output = within(folder.path(), &[MEASURE[0], &["--json", "--export-json", "pipe"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(pipe.metadata().unwrap().file_type().is_fifo());
    assert_eq!(reader.join().unwrap(), stdout(&output));
}

/// Refused before anything is measured, with a hint.
#[test]
fn files_that_cannot_be_written_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("folder")).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    for option in ["--export-json", "--export-markdown"] {
        for (path, says) in [
            ("none/a", "No such file or directory"),
            ("folder", "is a directory"),
            ("file/a", "Not a directory"),
        ] {
            let output = within(folder, &[MEASURE[0], &[option, path, "--out", "r.jsonl"]].concat());
            let message = stderr(&output);
            assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{message}");
            assert!(
                message.contains(&format!("cannot write {path}: ")) && message.contains(says),
                "{message}"
            );
            assert!(message.contains("name a file in a folder that exists"), "{message}");
            assert!(!folder.join("r.jsonl").exists(), "nothing was measured");
        }
        let output = within(folder, &[MEASURE[0], &[option, "-"]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("standard output is for the result"), "{}", stderr(&output));
    }
}

/// Root may write everywhere.
#[test]
fn a_folder_of_others_is_refused_at_once() {
    if !is_root() {
        return skip("not root: nobody else to be");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("howlate");
    crate::common::copy_program(&program);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups"]).arg(&program).args(MEASURE[0]);
    let output =
        command.args(["--no-save", "--export-json", "a.json"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write a.json: Permission denied"), "{}", stderr(&output));
}

#[test]
fn two_options_never_name_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    symlink(".", folder.join("link")).unwrap();
    for (first, second) in [
        ("--export-json", "--export-markdown"),
        ("--out", "--export-json"),
        ("--out", "--export-markdown"),
        ("--samples-out", "--export-json"),
        ("--out", "--samples-out"),
    ] {
        let output = within(folder, &[MEASURE[0], &[first, "same", second, "link/same"]].concat());
        let message = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{message}");
        assert!(message.contains(&format!("{first} and {second} name the same file: same")), "{message}");
        assert!(
            message.contains("give each a file of its own") && !folder.join("same").exists(),
            "{message}"
        );
    }
    let both = ["--out", "/dev/null", "--samples-out", "/dev/null"];
    let output = within(folder, &[MEASURE[0], &both].concat());
    assert!(!stderr(&output).contains("the same file"), "{}", stderr(&output));
}

/// Guests and tuning have no such files, and say so.
#[test]
fn where_there_are_no_exports_they_are_refused() {
    for arguments in [["tune", "cyclic"].as_slice(), &["guest", "--kernel", "host", "--", "cyclic"]] {
        let output = run(&[arguments, &["--export-json", "a.json"]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains("--export-json"), "{}", stderr(&output));
    }
}

/// Errors are reported before the measurement, not after.
#[test]
fn a_format_that_has_nothing_of_the_run_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (measure, format, says) in [
        (MEASURE[0], "intervals", "measure with `howlate sleep`"),
        (MEASURE[1], "osadl", "measure with `howlate cyclic`"),
    ] {
        let arguments = [measure, &["--format", format, "--out", "r.jsonl"]].concat();
        let output = within(folder.path(), &arguments);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{}", stderr(&output));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert!(!folder.path().join("r.jsonl").exists(), "it was measured");
    }
}
