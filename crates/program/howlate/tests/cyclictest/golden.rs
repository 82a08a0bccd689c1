//! Recorded outputs of the original, compared by shape; and the original itself, where it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::skip;
use crate::shape::shape;
use crate::{has_priority, howlate};

struct Case {
    name: String,
    arguments: Vec<String>,
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
    let arguments = call.strip_prefix("$ cyclictest ").unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    Case {
        name,
        arguments: arguments.split(' ').map(str::to_owned).collect(),
        shape: shape.trim_end().to_owned(),
    }
}

/// Shape of the output and of the files of `command`.
#[track_caller]
fn shape_of(mut command: Command, case: &Case) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let arguments = case.arguments.iter().map(|word| word.replace("FILE", file.to_str().unwrap()));
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
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

/// First line of the usage of each supported version.
const VERSIONS: [(&str, &str); 3] =
    [("2.4", "cyclictest V 2.40"), ("2.6", "cyclictest V 2.60"), ("2.10", "cyclictest V 2.10")];

/// Debian's cyclictest, if it is installed in a supported version: the version, and the first line of its usage.
fn installed_version() -> Option<(&'static str, &'static str)> {
    let usage = Command::new("cyclictest").arg("--help").output();
    let text = usage.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let found = VERSIONS.into_iter().find(|(_, first)| text.lines().next() == Some(first));
    if found.is_none() {
        skip("no cyclictest of a known version is installed");
    }
    found
}

/// howlate in place of this version.
fn in_place_of(version: &str) -> Command {
    howlate(&["--compat", version])
}

#[test]
fn the_original_gives_output_of_the_same_shape_here() {
    if !has_priority() {
        return;
    }
    let Some((version, _)) = installed_version() else { return };
    for case in cases(version) {
        let original_shape = shape_of(Command::new("cyclictest"), &case);
        let own_shape = shape_of(in_place_of(version), &case);
        assert_eq!(own_shape, original_shape, "{}", case.name);
    }
}

#[test]
fn command_lines_that_the_original_refuses_are_refused_alike() {
    let Some((version, first)) = installed_version() else { return };
    for line in ["--prio=80", "-p", "-p 100", "-h 0", "-o 5", "-A --secaligned", "--json", "--quiet=1", "-Z"]
    {
        let arguments: Vec<&str> = line.split(' ').collect();
        let original = Command::new("cyclictest").args(&arguments).output().unwrap();
        let own = in_place_of(version).args(&arguments).output().unwrap();
        assert_eq!(own.status.code(), original.status.code(), "{line}");
        assert_eq!(own.stdout.split(|&byte| byte == b'\n').next(), Some(first.as_bytes()));
        if original.status.success() {
            // Messages of getopt_long(3); other messages are howlate's own.
            assert_eq!(own.stderr, original.stderr, "{line}");
        }
    }
}

/// CPUs and nodes of the threads, without and with `-a` and `-S`.
#[test]
fn json_names_cpus_and_nodes_as_the_original_does() {
    let Some((version, _)) = installed_version() else { return };
    for arguments in [&["-t2"][..], &["-t2", "-a"], &["-t1", "-a", "0"], &["-S"]] {
        let places = |mut command: Command| -> Vec<(serde_json::Value, serde_json::Value)> {
            let output = command.args(["-q", "-l", "3", "--json=-"]).args(arguments).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let object = &text[text.find('{').unwrap()..=text.rfind('}').unwrap()];
            let json: serde_json::Value = serde_json::from_str(object).unwrap();
            let threads = json["thread"].as_object().unwrap().values();
            threads.map(|thread| (thread["cpu"].clone(), thread["node"].clone())).collect()
        };
        let (original, own) = (places(Command::new("cyclictest")), places(in_place_of(version)));
        assert_eq!(own, original, "{version} {arguments:?}");
    }
}
