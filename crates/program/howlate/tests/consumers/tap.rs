//! TAP, read by Perl's `prove` and by tap.py, which LAVA's test definitions use.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{howlate, skip};
use crate::{packages, recordings, show};

/// `prove`, with the text as the output of a test.
fn prove(text: &str) -> Option<Output> {
    if !["/usr/bin/prove", "/bin/prove"].iter().any(|path| Path::new(path).exists()) {
        skip("prove is not installed; it comes with Debian's package perl");
        return None;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Some(Command::new("prove").args(["--verbose", "--exec", "cat"]).arg(file.path()).output().unwrap())
}

#[test]
fn prove_passes_and_fails_as_the_limits_do() {
    let passing = show("cyclic", "tap", &["--fail-above", "max>1h", "--fail-above", "p50>1h"], 0);
    let Some(output) = prove(&passing) else { return };
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && message.contains("Result: PASS"), "{message}");
    let exceeded = show("cyclic", "tap", &["--fail-above", "max>1h", "--fail-above", "p50>1ns"], 1);
    let output = prove(&exceeded).unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && message.contains("Result: FAIL"), "{message}");
    assert!(!message.contains("Parse errors"), "{message}");
}

#[test]
fn a_run_that_did_not_end_in_order_passes_nothing() {
    for (limits, status) in [(&[][..], 0), (&["--fail-above", "max>1h"], 3)] {
        let text = show("killed", "tap", limits, status);
        assert!(text.contains("# SKIP ") && text.contains("the run did not end in order"), "{text}");
        let points = text.lines().filter(|line| line.starts_with("ok "));
        assert!(
            points.clone().count() > 0 && points.into_iter().all(|line| line.contains("# SKIP")),
            "{text}"
        );
    }
}

#[test]
fn prove_reads_a_comparison() {
    let arguments = ["compare", "policies.jsonl", "--by=policy", "--format=tap"];
    let output = howlate(&arguments).current_dir(recordings()).output().unwrap();
    let Some(proved) = prove(&String::from_utf8(output.stdout).unwrap()) else { return };
    let message = String::from_utf8_lossy(&proved.stdout);
    assert!(proved.status.success() && message.contains("Result: PASS"), "{message}");
}

#[test]
fn tap_py_finds_every_point() {
    let Some(mut python) = packages::python("tap-py", &["tap.py==3.2.1", "pyyaml", "more-itertools"]) else {
        return;
    };
    let text = show("cyclic", "tap", &["--fail-above", "max>1h", "--fail-above", "p50>1ns"], 1);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let script = "
import sys
from tap.parser import Parser
lines = list(Parser().parse_file(sys.argv[1]))
assert not [line for line in lines if line.category == 'unknown'], lines
tests = [line for line in lines if line.category == 'test']
print(sum(test.ok for test in tests), sum(not test.ok for test in tests))
assert all(test.yaml_block['value_ns'] > 0 for test in tests), tests[0].yaml_block
";
    let output = python.args(["-c", script]).arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let half = text.matches("ok ").count() / 2;
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{half} {half}"));
}
