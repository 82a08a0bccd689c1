//! JUnit XML, validated by the schemas of Jenkins' xUnit plugin and of Maven's Surefire.

use crate::common::{howlate, stdout};
use crate::{packages, recordings, show};

/// pytest tests its XML against the plugin's schema, which is in its source archive.
fn check(text: &str) {
    let Some(source) = packages::python_source("jenkins-schema", "pytest==8.3.5") else { return };
    let schema = source.join("pytest-8.3.5/testing/example_scripts/junit-10.xsd");
    let Some(mut python) = packages::python("xmlschema", &["xmlschema==4.1.0"]) else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let output = python.args(["-c", SCRIPT]).arg(schema).arg(SUREFIRE).arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The schema in Maven's plugin, with its licence.
const SUREFIRE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/schemas/surefire-test-report.xsd");

/// Surefire writes one file per suite, so that its schema lacks `<testsuites>`. Failures needed a type until 3.0; this schema no longer
/// demands it, but readers do.
const SCRIPT: &str = r"
import sys, xml.etree.ElementTree as tree, xmlschema
jenkins, surefire, file = sys.argv[1:]
xmlschema.validate(file, jenkins)
suites = tree.parse(file).getroot().findall('testsuite')
assert suites, 'no suite'
for suite in suites:
    xmlschema.XMLSchema(surefire).validate(suite)
    assert all(failure.get('type') for failure in suite.iter('failure')), 'a failure without a type'
";

#[test]
fn a_run_is_valid_for_jenkins() {
    let text = show("cyclic", "junit", &["--fail-above", "max>1ns", "--fail-above", "p50>1s"], 1);
    assert!(
        text.contains("<failure message=\"max is ") && text.contains(" type=\"limit_exceeded\""),
        "{text}"
    );
    for needed in [" classname=\"howlate.cyclic.clock_nanosleep\"", " time=\"", "<system-out>n = "] {
        assert!(text.contains(needed), "{needed}: {text}");
    }
    check(&text);
}

#[test]
fn what_was_not_measured_as_asked_is_skipped() {
    let text = show("languages", "junit", &[], 0);
    check(&text);
    // It was killed, so that a limit for the whole run cannot be judged.
    let text = show("killed", "junit", &["--fail-above", "max>1h"], 3);
    check(&text);
}

#[test]
fn a_comparison_is_valid_for_jenkins() {
    for arguments in
        [["compare", "idle-before.jsonl", "idle-after.jsonl"], ["compare", "policies.jsonl", "--by=policy"]]
    {
        let output =
            howlate(&arguments).args(["--format", "junit"]).current_dir(recordings()).output().unwrap();
        let text = stdout(&output);
        assert!(
            text.contains("<testcase name=") && text.contains(" classname=\"howlate.compare\""),
            "{text}"
        );
        check(&text);
    }
}
