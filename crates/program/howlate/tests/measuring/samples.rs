//! `--samples-out`: every wake-up in order, read by pyarrow.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{json, run, show_json, skip, stderr, stdout};
use serde_json::{Value, json};

/// Measures with `arguments`; returns the result of the recording, and the file of samples.
fn measure(folder: &Path, arguments: &[&str]) -> (Value, PathBuf) {
    let (recording, samples) = (folder.join("run.jsonl"), folder.join("run.parquet"));
    let files = ["--out", recording.to_str().unwrap(), "--samples-out", samples.to_str().unwrap(), "--quiet"];
    let output = run(&[arguments, &files[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (show_json(&recording), samples)
}

/// Python with pyarrow, installed among the temporary files of the tests.
fn python_with_pyarrow() -> Option<Command> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pyarrow");
    let python = || {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &folder);
        python
    };
    let has_it = || python().args(["-c", "import pyarrow"]).output().is_ok_and(|out| out.status.success());
    if !has_it() {
        let install = ["-m", "pip", "install", "--quiet", "--target"];
        python().args(install).arg(&folder).arg("pyarrow").output().ok()?;
    }
    has_it().then(python)
}

/// Prints the number of wake-ups, and the least and greatest latency of each condition.
const READER: &str = "
import json, sys, pyarrow.parquet as parquet
file = parquet.read_table(sys.argv[1])
header = json.loads(file.schema.metadata[b'howlate.header'])
rows = file.to_pydict()
found = [[] for _ in header['conditions']]
for condition, expected, ran in zip(rows['condition'], rows['expected_ns'], rows['ran_ns']):
    found[condition].append(ran - expected)
print(json.dumps([[len(each), min(each), max(each)] for each in found]))
";

#[test]
fn pyarrow_reads_what_the_recording_sums_up() {
    if python_with_pyarrow().is_none() {
        return skip("pyarrow cannot be installed: python3 with pip and a package index are needed");
    }
    let kinds: [&[&str]; 3] = [
        &["cyclic", "--threads", "2", "--samples", "50", "--policy", "other,batch"],
        &["sleep", "--for", "0,100us", "--call", "nanosleep,python", "--samples", "30"],
        &["notify", "--mechanism", "pipe", "--after", "10us", "--samples", "40"],
    ];
    for arguments in kinds {
        let folder = tempfile::tempdir().unwrap();
        let (result, samples) = measure(folder.path(), arguments);
        let read = python_with_pyarrow().unwrap().args(["-c", READER]).arg(samples).output().unwrap();
        let found: Value =
            serde_json::from_str(&stdout(&read)).unwrap_or_else(|_| panic!("{}", stderr(&read)));
        let expected: Vec<Value> = result["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| json!([result["count"], result["latency_ns"]["min"], result["latency_ns"]["max"]]))
            .collect();
        assert_eq!(found, Value::from(expected), "{arguments:?}");
    }
}

/// Prints the wake-ups of all blocks for each CPU and policy, and the greatest latency.
const BLOCKS: &str = "
import json, sys, pyarrow.parquet as parquet
found = {}
for row in parquet.read_table(sys.argv[1]).to_pylist():
    count, worst = found.get((row['policy'], row['cpu']), (0, 0))
    found[row['policy'], row['cpu']] = (count + row['count'], max(worst, row['max_ns']))
    assert row['kind'] == 'cyclic' and row['length_ns'] == 1000000 and row['until_ns'] > row['from_ns']
    assert row['p99_ns'] is None or row['planned'] >= 100
print(json.dumps([[policy, cpu, *both] for (policy, cpu), both in sorted(found.items())]))
";

#[test]
fn pyarrow_reads_blocks_that_sum_up_to_the_result() {
    if python_with_pyarrow().is_none() {
        return skip("pyarrow cannot be installed: python3 with pip and a package index are needed");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks.parquet");
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/cyclic.jsonl");
    let arguments = ["show", recording, "--format", "json", "--blocks-out", path.to_str().unwrap()];
    let result = json(&arguments, 0);
    let read = python_with_pyarrow().unwrap().args(["-c", BLOCKS]).arg(&path).output().unwrap();
    let found: Value = serde_json::from_str(&stdout(&read)).unwrap_or_else(|_| panic!("{}", stderr(&read)));
    let mut expected: Vec<(String, Value)> = Vec::new();
    for result in result["results"].as_array().unwrap() {
        let condition = &result["condition"];
        let policy = match condition["priority"].as_u64() {
            Some(priority) => format!("fifo:{priority}"),
            None => "other".to_owned(),
        };
        let max = result["corrected_ns"]["max"].as_u64().max(result["latency_ns"]["max"].as_u64());
        expected.push((
            format!("{policy} {}", condition["cpu"]),
            json!([policy, condition["cpu"], result["count"], max]),
        ));
    }
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, Value::from(expected.into_iter().map(|(_, row)| row).collect::<Vec<_>>()));
    assert_eq!(run(&arguments).status.code(), Some(2), "refusing to overwrite it");
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, "precious").unwrap();
    let output = run(&["cyclic", "--samples", "1", "--samples-out", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("already exists"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn the_result_does_not_depend_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let arguments = ["cyclic", "--threads", "1", "--samples", "20", "--json"];
    let with = json(&[&arguments[..], &["--samples-out", path.to_str().unwrap()]].concat(), 0);
    assert_eq!(with["results"][0]["count"], 20);
    assert!(std::fs::metadata(&path).unwrap().len() > 100);
}
