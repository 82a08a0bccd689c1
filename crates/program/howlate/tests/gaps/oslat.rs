//! howlate in place of oslat.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{json, skip};
use crate::{last_cpu, shape, under_the_name};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Calls whose output is compared with the original's; `CPU` is replaced by a CPU.
const CALLS: [&str; 6] = [
    "-D 1 -c CPU -b 5",
    "-q -D 1 -c CPU -z",
    "-D 1s --cpu-list=CPU --cpu-main-thread 0 --bias --bucket-size 6 --single-preheat",
    "-D1 -c CPU -w memmove -m 8K -b 5",
    "--version",
    "-b 4",
];

fn arguments(call: &str) -> Vec<String> {
    call.replace("CPU", &last_cpu()).split(' ').map(str::to_owned).collect()
}

/// Whether the compared version of Debian's oslat is installed.
fn is_original_there() -> bool {
    let there =
        Command::new("oslat").arg("-v").output().is_ok_and(|output| text(&output) == "oslat V 2.40\n");
    if !there {
        skip("no oslat of rt-tests 2.4 is installed");
    }
    there
}

#[test]
fn text_and_status_are_those_of_the_original() {
    if !is_original_there() {
        return;
    }
    for call in CALLS {
        let (mut ours, _folder) = under_the_name("oslat-2.4");
        let ours = ours.args(arguments(call)).output().unwrap();
        let original = Command::new("oslat").args(arguments(call)).output().unwrap();
        assert_eq!(shape(&text(&ours)), shape(&text(&original)), "{call}");
        assert_eq!(ours.status.code(), original.status.code(), "{call}");
    }
}

#[test]
fn json_has_the_keys_of_the_original() {
    if !is_original_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("o.json");
    let written = |mut command: Command| {
        command.args(arguments("-q -D 1 -c CPU")).arg(format!("--json={}", file.display()));
        assert!(command.output().unwrap().status.success());
        fs::read_to_string(&file).unwrap()
    };
    let (ours, _link) = under_the_name("oslat-2.4");
    let (ours, original) = (written(ours), written(Command::new("oslat")));
    let keys = |text: &str| -> Vec<String> {
        let named = text.lines().filter_map(|line| Some(line.split_once("\": ")?.0.trim().to_owned()));
        let mut keys: Vec<String> =
            named.filter(|key| !key.trim_start_matches('"').starts_with(char::is_numeric)).collect();
        keys.dedup();
        keys
    };
    assert_eq!(keys(&ours), keys(&original));
    let ours: Value = serde_json::from_str(&ours).unwrap();
    assert_eq!((&ours["rt_test_version:"], &ours["return_code"]), (&"2.40".into(), &0.into()));
}

/// What `latency.go` of OpenShift's functional tests parses, under a runner that empties the environment.
#[test]
fn a_pod_of_openshifts_finds_its_maximum() {
    let (mut command, _folder) = under_the_name("oslat");
    let cpu = last_cpu();
    let arguments = ["--duration", "1", "--cpu-list", &cpu, "--cpu-main-thread", "0"];
    let output = command.env_clear().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = text(&output);
    let maximum = regex::Regex::new(r"Maximum:\t*([\s\d]*)\(us\)").unwrap();
    let found = &maximum.captures(&printed).unwrap_or_else(|| panic!("{printed}"))[1];
    let numbers: Vec<u64> = found.split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 1 && numbers[0] > 0, "{printed}");
}

#[test]
fn howlate_reads_what_it_writes_in_oslats_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("o.json");
    let (mut command, _link) = under_the_name("oslat");
    let output =
        command.args(arguments("-q -D 1 -c CPU")).arg(format!("--json={}", file.display())).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = json(&["show", "--json", file.to_str().unwrap()], 0);
    assert!(shown.to_string().contains("oslat"), "{shown}");
}

#[test]
fn a_threshold_ends_it_with_a_word() {
    let (mut command, _folder) = under_the_name("oslat");
    let output = command.args(arguments("-D 20 -c CPU -T 1")).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("oslat: Trace threshold (1 us) triggered on cpu "), "{message}");
    assert!(message.ends_with("Stopping the test.\n") && !text(&output).contains("Maximum"), "{message}");
}
