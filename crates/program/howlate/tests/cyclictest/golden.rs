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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/cyclictest").join(version);
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
    for version in ["2.4", "2.6", "2.10"] {
        let cases = cases(version);
        assert_eq!(cases.len(), 13, "{version}");
        for case in cases {
            let got = shape_of(howlate(&["--compat", version]), &case);
            assert_eq!(got, case.shape, "{version} {}", case.name);
        }
    }
}

/// The first line of the usage of each version that is imitated.
const VERSIONS: [(&str, &str); 3] =
    [("2.4", "cyclictest V 2.40"), ("2.6", "cyclictest V 2.60"), ("2.10", "cyclictest V 2.10")];

/// The version of Debian's cyclictest, if it is installed and one that is imitated, and its first line.
fn installed() -> Option<(&'static str, &'static str)> {
    let usage = Command::new("cyclictest").arg("--help").output();
    let text = usage.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let found = VERSIONS.into_iter().find(|(_, first)| text.lines().next() == Some(first));
    if found.is_none() {
        skip("no cyclictest of a known version is installed");
    }
    found
}

/// howlate in the place of this version.
fn in_place_of(version: &str) -> Command {
    howlate(&["--compat", version])
}

#[test]
fn the_original_gives_output_of_the_same_shape_here() {
    if !has_priority() {
        return;
    }
    let Some((version, _)) = installed() else { return };
    for case in cases(version) {
        let theirs = shape_of(Command::new("cyclictest"), &case);
        let ours = shape_of(in_place_of(version), &case);
        assert_eq!(ours, theirs, "{}", case.name);
    }
}

#[test]
fn command_lines_that_the_original_refuses_are_refused_alike() {
    let Some((version, first)) = installed() else { return };
    for line in ["--prio=80", "-p", "-p 100", "-h 0", "-o 5", "-A --secaligned", "--json", "--quiet=1", "-Z"]
    {
        let words: Vec<&str> = line.split(' ').collect();
        let theirs = Command::new("cyclictest").args(&words).output().unwrap();
        let ours = in_place_of(version).args(&words).output().unwrap();
        assert_eq!(ours.status.code(), theirs.status.code(), "{line}");
        assert_eq!(ours.stdout.split(|&byte| byte == b'\n').next(), Some(first.as_bytes()));
        if theirs.status.success() {
            // What getopt_long(3) says; reasons for other refusals are howlate's own.
            assert_eq!(ours.stderr, theirs.stderr, "{line}");
        }
    }
}

/// Where threads run, and on which node, without and with `-a` and `-S`.
#[test]
fn json_names_cpus_and_nodes_as_the_original_does() {
    let Some((version, _)) = installed() else { return };
    for words in [&["-t2"][..], &["-t2", "-a"], &["-t1", "-a", "0"], &["-S"]] {
        let places = |mut command: Command| -> Vec<(serde_json::Value, serde_json::Value)> {
            let output = command.args(["-q", "-l", "3", "--json=-"]).args(words).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let object = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
            let json: serde_json::Value = serde_json::from_str(object).unwrap();
            let threads = json["thread"].as_object().unwrap().values();
            threads.map(|thread| (thread["cpu"].clone(), thread["node"].clone())).collect()
        };
        let (theirs, ours) = (places(Command::new("cyclictest")), places(in_place_of(version)));
        assert_eq!(ours, theirs, "{version} {words:?}");
    }
}
