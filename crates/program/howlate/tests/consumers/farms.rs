//! KCIDB, LAVA, github-action-benchmark and InfluxDB.

use regex::Regex;
use serde_json::Value;

use crate::common::stdout;
use crate::{packages, recordings, show};

const LIMITS: [&str; 4] = ["--fail-above", "max>1ns", "--fail-above", "missed>100000"];

#[test]
fn kcidb_takes_the_report() {
    let text = show("cyclic", "kcidb", &LIMITS, 1);
    let report: Value = serde_json::from_str(&text).unwrap();
    let statuses: Vec<&str> =
        report["tests"].as_array().unwrap().iter().map(|test| test["status"].as_str().unwrap()).collect();
    assert!(statuses.chunks(2).all(|pair| pair == ["FAIL", "PASS"]), "{statuses:?}");
    for text in [text, show("guest", "kcidb", &[], 0), show("notify", "kcidb", &[], 0)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let script = "import json, sys\nfrom kcidb_io.schema import V5_3 as schema\nschema.validate(json.load(open(sys.argv[1])))";
        let Some(mut python) = packages::python("kcidb", &["kcidb-io==141", "setuptools<81"]) else { return };
        let output = python.args(["-c", script]).arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A shell executes the output, with names that LAVA accepts.
#[test]
fn a_shell_in_lavas_overlay_calls_every_line() {
    let text = show("guest", "lava", &LIMITS, 1);
    let stub = r#"lava-test-case() { echo "$# $1 $3 $5 $7"; }"#;
    let output =
        std::process::Command::new("bash").args(["-ec", &format!("{stub}\n{text}")]).output().unwrap();
    let message = stdout(&output);
    assert!(
        text.starts_with("# of every planned wake-up"),
        "what is counted is said where a shell passes over it: {text}"
    );
    assert_eq!(1 + message.lines().count(), text.lines().count());
    let called = Regex::new(r"^7 [\w.:%+-]+ (pass|fail|skip) \d+(\.\d{3})? (us|periods)$").unwrap();
    let mut names: Vec<&str> = message.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert!(message.lines().all(|line| called.is_match(line)), "{message}");
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{message}");
    assert!(message.contains("-max-limit fail ") && message.contains("-missed-limit pass "), "{message}");
}

/// The action's `customSmallerIsBetter` needs name, unit and value of every entry.
#[test]
fn github_action_benchmark_finds_its_entries() {
    let entries: Vec<Value> = serde_json::from_str(&show("cyclic", "benchmark", &[], 0)).unwrap();
    let names: std::collections::BTreeSet<&str> =
        entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), entries.len());
    for entry in &entries {
        assert!(entry["unit"] == "µs" && entry["value"].is_number() && entry["extra"].is_string(), "{entry}");
    }
}

#[test]
fn influxdbs_own_decoder_reads_every_line() {
    let program = r#"package main

import (
	"fmt"
	"os"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	decoder := lineprotocol.NewDecoder(file)
	for decoder.Next() {
		name, err := decoder.Measurement()
		check(err)
		tags, fields := 0, 0
		for {
			key, _, err := decoder.NextTag()
			check(err)
			if key == nil {
				break
			}
			tags++
		}
		for {
			key, _, err := decoder.NextField()
			check(err)
			if key == nil {
				break
			}
			fields++
		}
		at, err := decoder.TimeBytes()
		check(err)
		fmt.Println(string(name), tags, fields, string(at))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
"#;
    let modules = ["github.com/influxdata/line-protocol/v2@v2.2.1"];
    let Some(mut go) = packages::go("influx", &modules, program) else { return };
    let text: String =
        ["cyclic", "languages", "guest"].iter().map(|name| show(name, "influx", &[], 0)).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let output = go.arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let message = stdout(&output);
    assert_eq!(message.lines().count(), text.lines().count());
    let read = Regex::new(r"^howlate \d+ \d+ \d{19}$").unwrap();
    assert!(message.lines().all(|line| read.is_match(line)), "{message}");
    assert!(recordings().is_dir());
}
