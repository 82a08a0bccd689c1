//! Reading folders of `howlate record`, without a recorder.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use howlate_model::{Header, Line, Span};
use serde_json::{Value, json};

use super::serve::{PrometheusServer, TestServer};
use crate::common::{
    ForAnyone, assert_valid, is_installed, json as json_of, run, skip, stderr, stdout, wait_until,
};

/// A folder with one file: an incident, and its minute.
pub(crate) fn write_record_folder(folder: &Path) -> PathBuf {
    let path = folder.join("kept");
    std::fs::create_dir(&path).unwrap();
    let header = Header {
        howlate: "0.1.0".into(),
        command: "record".into(),
        started: "2026-11-25T03:12:00Z".into(),
        late_above: Some(Span::from_millis(5)),
        ..Header::for_conditions(vec![])
    };
    let header = serde_json::to_value(Line::Header(Box::new(header))).unwrap();
    let mut file = File::create(path.join("00000001-20261125T031200Z.jsonl")).unwrap();
    for line in [header, incident("backup", 30_000_000), minute("2026-11-25T03:13:00Z")] {
        writeln!(file, "{line}").unwrap();
    }
    path
}

fn incident(culprit: &str, ns: u64) -> Value {
    json!({"incident": {
        "at": "2026-11-25T03:12:30.5Z", "at_ns": 100_000_000, "latency_ns": ns,
        "thread": {"name": "worker", "process": "nginx", "pid": 70, "tid": 71, "uid": 0},
        "kind": "woken", "cpu": 1,
        "parts": [{"part": "waiting", "kind": "thread", "name": "rsync", "pid": 9, "from_ns": 100_000_000 - ns, "ns": ns}],
        "causes": [{"kind": "thread", "name": "rsync", "pid": 9, "process": culprit, "ns": ns, "share": 1.0}],
    }})
}

fn minute(at: &str) -> Value {
    let mut waits = howlate_model::Distribution::default();
    waits.record(howlate_model::Latency::from_nanos(30_000_000));
    json!({"minute": {
        "at": at, "from_ns": 0, "until_ns": 60_000_000_000_u64,
        "groups": [{"process": "nginx", "uid": 0, "policy": "other", "late": 1, "waits": waits}],
    }})
}

#[test]
fn each_question_is_answered_from_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let record_folder = write_record_folder(folder.path());
    let at = record_folder.to_str().unwrap();
    let stdout_of = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    let minute = "2026-11-25T03:12Z";
    let why = stdout_of(&["why", at, "--at", minute]);
    assert!(why.contains("nginx worker (71) waited 30.0 ms for CPU 1, after it was woken"), "{why}");
    let top = stdout_of(&["top", "--at", minute, at]);
    assert!(top.contains("backup 30.0 ms") && top.contains("are only counted"), "{top}");
    let culprits = stdout_of(&["top", "--at", minute, "--by", "culprit", at]);
    assert!(culprits.contains("backup") && culprits.contains("30.0 ms  nginx"), "{culprits}");
    let folded = stdout_of(&["show", at, "--format", "folded"]);
    assert_eq!(folded, "nginx;worker;woken;waiting for the CPU;backup;rsync 30000000\n");
    let page = stdout_of(&["report", at, "--at", minute, "-o", "-"]);
    assert!(page.contains("1 incident") && page.contains("held up by rsync"), "{page}");
    for (arguments, incidents) in [
        (&["why", at, "--at", minute, "--json"], 1),
        (&["why", at, "--at", "2026-11-25T04:12Z", "--json"], 0),
    ] {
        assert_eq!(json_of(arguments, 0)["incidents"].as_array().unwrap().len(), incidents, "{arguments:?}");
    }
}

/// A folder of one machine, with an incident at this time.
fn write_folder_of_node(node: &str, lab: &Path, at: &str, max_error_ns: u64) {
    let path = lab.join(node);
    std::fs::create_dir_all(&path).unwrap();
    let node = howlate_model::Node { name: Some(node.into()), ..howlate_model::Node::default() };
    let header = Header { command: "record".into(), node, ..Header::for_conditions(vec![]) };
    let header = serde_json::to_value(Line::Header(Box::new(header))).unwrap();
    let (mut incident, mut minute) = (incident("backup", 30_000_000), minute("2026-11-25T03:13:00Z"));
    incident["incident"]["at"] = at.into();
    minute["minute"]["clock"] = json!({"synchronised": true, "max_error_ns": max_error_ns});
    let mut file = File::create(path.join("00000001-20261125T031200Z.jsonl")).unwrap();
    for line in [header, incident, minute] {
        writeln!(file, "{line}").unwrap();
    }
}

#[test]
fn incidents_of_several_machines_stand_in_the_order_of_the_time_of_day() {
    let lab = tempfile::tempdir().unwrap();
    write_folder_of_node("n1", lab.path(), "2026-11-25T03:12:31Z", 4_000_000);
    write_folder_of_node("n2", lab.path(), "2026-11-25T03:12:30.25Z", 9_000_000);
    let place = |node: &str| lab.path().join(node).display().to_string();
    let (n1, n2) = (place("n1"), place("n2"));
    let document = json_of(&["show", &n1, &n2, "--at", "2026-11-25T03:12Z", "--json"], 0);
    let all = document["incidents"].as_array().unwrap();
    let nodes: Vec<&str> = all.iter().map(|incident| incident["node"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["n2", "n1"]);
    assert_eq!(document["order_known_beyond_ns"], 13_000_000);
    let named: Vec<_> = document["nodes"].as_array().unwrap().iter().map(|node| &node["node"]).collect();
    assert_eq!(named, ["n1", "n2"]);
    assert_valid(&document, "incidents");
    // The folder that contains one per machine gives the same.
    let together = json_of(&["show", lab.path().to_str().unwrap(), "--at", "2026-11-25T03:12Z", "--json"], 0);
    assert_eq!(together, document);
    let text = stdout(&run(&["show", &n1, &n2]));
    assert!(text.find("n2   30.0 ms").unwrap() < text.find("n1   30.0 ms").unwrap(), "{text}");
    let output = run(&["show", &n1, &n2, "--format", "folded"]);
    assert!(stderr(&output).contains("name one folder for more"), "{}", stderr(&output));
}

#[test]
fn a_folder_that_cannot_be_read_is_not_called_another_thing() {
    let place = ForAnyone::new();
    let record_folder = write_record_folder(place.folder.path());
    std::fs::set_permissions(&record_folder, PermissionsExt::from_mode(0o000)).unwrap();
    let output = place.howlate(&["show", "kept", "--since", "1h"]).output().unwrap();
    let text = stderr(&output);
    assert!(text.contains("cannot read kept: Permission denied"), "{text}");
    assert!(text.contains("run it as the user who recorded, or as root"), "{text}");
    std::fs::set_permissions(&record_folder, PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn what_it_does_not_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let record_folder = write_record_folder(folder.path());
    let at = record_folder.to_str().unwrap();
    let minute = "2026-11-25T03:12Z";
    for (arguments, expected) in [
        (&["show", at, "--format", "csv"][..], "`show` has text, json, folded and perfetto of it"),
        (&["show", at, "--format", "trace"], "`show` has text, json, folded and perfetto of it"),
        (&["report", at, "--format", "md"], "cannot be shown in that format"),
        (&["top", "--at", minute, "--by", "thread", at], "counts waits by process, not by thread"),
        (&["top", "--at", minute, "--kind", "cpu", at], "cannot be used with"),
        (&["top", "--at", minute, folder.path().to_str().unwrap()], "is not a folder of `howlate record`"),
        (&["why", "--at", minute], "nothing is recorded in /var/lib/howlate"),
        (&["record", "--yes"], "--install"),
        (&["record", "--install", "--out", "here"], "is not an absolute path below a folder"),
    ] {
        let output = run(arguments);
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn what_is_recorded_from_now_on_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let record_folder = write_record_folder(folder.path());
    let served = TestServer::start(&[record_folder.to_str().unwrap()]);
    let count = |metrics: &str, name: &str| {
        metrics.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        count(&served.get("/metrics"), "howlate_held_up"),
        [""; 0],
        "what was there already is not counted"
    );
    let mut file =
        File::options().append(true).open(record_folder.join("00000001-20261125T031200Z.jsonl")).unwrap();
    for line in [incident("cron", 7_000_000), minute("2026-11-25T03:14:00Z")] {
        writeln!(file, "{line}").unwrap();
    }
    for _ in 0..2 {
        let metrics = served.get("/metrics");
        let held_up = count(&metrics, "howlate_held_up");
        assert_eq!(
            held_up,
            ["howlate_held_up_seconds_total{victim=\"nginx\",culprit=\"cron\"} 0.007"],
            "counted once"
        );
        assert_eq!(
            count(&metrics, "howlate_late_seconds_count"),
            ["howlate_late_seconds_count{by=\"process\",group=\"nginx\"} 1"]
        );
    }
    assert!(served.get("/").contains("Threads that ran late"));
    assert_eq!(served.end(), Some(0));
}

/// Prometheus itself scrapes the protobuf: a histogram with native buckets, and its percentiles.
#[test]
fn prometheus_has_native_histograms_where_it_asks_for_them() {
    if !is_installed("prometheus") {
        return skip("prometheus is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let record_folder = write_record_folder(folder.path());
    let served = TestServer::start(&[record_folder.to_str().unwrap()]);
    let mut file =
        File::options().append(true).open(record_folder.join("00000001-20261125T031200Z.jsonl")).unwrap();
    writeln!(file, "{}", minute("2026-11-25T03:14:00Z")).unwrap();
    let prometheus = PrometheusServer::start(&served, "", &["--enable-feature=native-histograms"]);
    let value = |query: &str| -> Option<Value> {
        let body: Value = serde_json::from_str(&prometheus.query(query)?).ok()?;
        body["data"]["result"].get(0).cloned()
    };
    let mut found = Value::Null;
    wait_until("a histogram of ours in Prometheus", || {
        found = value("howlate_late_seconds").unwrap_or_default();
        !found.is_null()
    });
    let histogram = &found["histogram"][1];
    assert_eq!((&found["metric"]["group"], &histogram["count"]), (&"nginx".into(), &"1".into()), "{found}");
    assert_eq!(histogram["sum"], "0.03", "{found}");
    let bounds: Vec<f64> =
        [1, 2].map(|place| histogram["buckets"][0][place].as_str().unwrap().parse().unwrap()).into();
    // Buckets are 9 % wide, plus the precision of the recording.
    assert!(bounds[0] < 0.031 && bounds[1] > 0.029 && bounds[1] < bounds[0] * 1.1, "{found}");
    let median = value("histogram_quantile(0.5,howlate_late_seconds)").unwrap();
    assert!(median["value"][1].as_str().unwrap().starts_with("0.0"), "{median}");
}

/// Metrics of a folder during a recording.
pub(crate) fn metrics() -> String {
    let mut counts = howlate_analyse::incidents::LateCounts::default();
    for line in [incident("cron", 7_000_000), minute("2026-11-25T03:14:00Z")] {
        counts.add(&serde_json::from_value(line).unwrap());
    }
    howlate_render::late_metrics(&counts)
}
