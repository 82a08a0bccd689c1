//! Recorded outputs of the original, by shape; and the original itself, where it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::skip;
use crate::shape::shape;
use crate::{has_priority, howlate};

/// One recorded call.
struct Case {
    name: String,
    words: Vec<String>,
    shape: String,
}

fn cases(version: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cyclictest").join(version);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| case(path)).collect()
}

fn case(path: &Path) -> Case {
    let text = fs::read_to_string(path).unwrap();
    let (call, shape) = text.split_once('\n').unwrap();
    let words = call.strip_prefix("$ cyclictest ").unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    Case { name, words: words.split(' ').map(str::to_owned).collect(), shape: shape.trim_end().to_owned() }
}

/// The shape of what `command` prints and writes.
#[track_caller]
fn shape_of(mut command: Command, case: &Case) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let words = case.words.iter().map(|word| word.replace("FILE", file.to_str().unwrap()));
    let Output { status, stdout, stderr } = command.args(words).output().unwrap();
    assert_eq!(status.code(), Some(0), "{}: {}", case.name, String::from_utf8_lossy(&stderr));
    let printed = shape(&String::from_utf8(stdout).unwrap(), case.name == "live");
    match fs::read_to_string(file) {
        Ok(written) => format!("{printed}\n--- FILE\n{}", shape(&written, false)),
        Err(_) => printed,
    }
}

#[test]
fn recorded_calls_give_output_of_the_recorded_shape() {
    if !has_priority() {
        return;
    }
    for version in ["2.4", "2.10"] {
        let cases = cases(version);
        assert_eq!(cases.len(), 13, "{version}");
        for case in cases {
            let got = shape_of(howlate(&["--compat", version]), &case);
            assert_eq!(got, case.shape, "{version} {}", case.name);
        }
    }
}

/// Debian's cyclictest, if it is installed and of the version that is imitated.
fn original() -> Option<Command> {
    let version = Command::new("cyclictest").arg("--help").output();
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let found = text.starts_with("cyclictest V 2.40").then(|| Command::new("cyclictest"));
    if found.is_none() {
        skip("cyclictest 2.4 is not installed");
    }
    found
}

#[test]
fn the_original_gives_output_of_the_same_shape_here() {
    if !has_priority() {
        return;
    }
    for case in cases("2.4") {
        let Some(original) = original() else { return };
        let (theirs, ours) = (shape_of(original, &case), shape_of(howlate(&["--compat=2.4"]), &case));
        assert_eq!(ours, theirs, "{}", case.name);
    }
}

#[test]
fn command_lines_that_the_original_refuses_are_refused_alike() {
    for line in ["--prio=80", "-p", "-p 100", "-h 0", "-o 5", "-A --secaligned", "--json", "--quiet=1", "-Z"]
    {
        let Some(mut original) = original() else { return };
        let words: Vec<&str> = line.split(' ').collect();
        let theirs = original.args(&words).output().unwrap();
        let ours = howlate(&["--compat=2.4"]).args(&words).output().unwrap();
        assert_eq!(ours.status.code(), theirs.status.code(), "{line}");
        assert_eq!(ours.stdout.split(|&byte| byte == b'\n').next(), Some(&b"cyclictest V 2.40"[..]));
        if theirs.status.success() {
            // What getopt_long(3) says; reasons for other refusals are howlate's own.
            assert_eq!(ours.stderr, theirs.stderr, "{line}");
        }
    }
}
