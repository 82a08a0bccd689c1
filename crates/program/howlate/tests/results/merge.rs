//! `howlate merge`, and folders in place of recordings.

use std::path::{Path, PathBuf};

use crate::common::{json, run, stderr, stdout};
use serde_json::Value;

/// A folder with one recording per machine, derived from an immutable one.
fn fleet(machines: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for machine in machines {
        let node = serde_json::json!({ "name": machine });
        std::fs::write(folder.path().join(format!("{machine}.jsonl")), of("cyclic", machine, &node)).unwrap();
    }
    folder
}

/// The recording `name` with an id and a machine in its header.
fn of(name: &str, id: &str, node: &Value) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let text = std::fs::read_to_string(Path::new(folder).join(name).with_extension("jsonl")).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(first).unwrap();
    (header["header"]["id"], header["header"]["node"]) = (id.into(), node.clone());
    format!("{header}\n{rest}")
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

fn counts(result: &Value) -> Vec<(String, u64)> {
    let summary = |value: &Value| {
        (value["condition"]["node"].as_str().unwrap_or_default().to_owned(), value["count"].as_u64().unwrap())
    };
    result["results"].as_array().unwrap().iter().map(summary).collect()
}

#[test]
fn many_recordings_are_one_and_a_folder_is_read_as_that() {
    let folder = fleet(&["n1", "n2"]);
    let (all, out) = (folder.path().to_str().unwrap().to_owned(), path(folder.path(), "all.out"));
    let merged = run(&["merge", &all, "-o", &out]);
    assert_eq!(merged.status.code(), Some(0), "{}", stderr(&merged));
    let message = stdout(&merged);
    assert!(
        message.contains("2 recordings of 2 machines, ") && message.contains("Kept apart by node: n1, n2."),
        "{message}"
    );
    let single = counts(&json(&["show", "--json", &path(folder.path(), "n1.jsonl")], 0));
    let both = json(&["show", "--json", &out], 0);
    let total = |counts: &[(String, u64)]| counts.iter().map(|count| count.1).sum::<u64>();
    assert_eq!(total(&counts(&both)), 2 * total(&single));
    assert_eq!(counts(&json(&["show", "--json", &all], 0)), counts(&both));
    assert_eq!(counts(&json(&["show", "--json", &path(folder.path(), "n?.jsonl")], 0)), counts(&both));
    // Only the merged file has `merge` in its command line.
    let title = |shown: &str| stdout(&run(&["show", shown])).lines().next().unwrap_or_default().to_owned();
    assert!(title(&all).starts_with(&format!("howlate show {all} · ")), "{}", title(&all));
    assert!(title(&out).starts_with("howlate merge · "), "{}", title(&out));
    let again = run(&["merge", &all, "-o", &out]);
    assert_eq!(again.status.code(), Some(2), "refusing to overwrite it");
}

#[test]
fn what_cannot_be_read_is_named_and_left_out() {
    let folder = fleet(&["n1", "n2"]);
    std::fs::write(folder.path().join("n3.jsonl"), "no recording\n").unwrap();
    let twice = std::fs::read(folder.path().join("n1.jsonl")).unwrap();
    std::fs::write(folder.path().join("n4.jsonl"), twice).unwrap();
    let (all, out) = (folder.path().to_str().unwrap(), path(folder.path(), "all.out"));
    let merged = run(&["merge", all, "-o", &out]);
    assert_eq!(merged.status.code(), Some(3));
    let message = stderr(&merged);
    assert!(message.contains("n3.jsonl is not in the numbers: "), "{message}");
    assert!(message.contains("n4.jsonl was given twice; it counts once."), "{message}");
    assert!(stdout(&merged).contains("2 recordings of 2 machines"));
    assert_eq!(run(&["show", &out]).status.code(), Some(3), "it stays so wherever it is read");
    let none = run(&["merge", &path(folder.path(), "n3.jsonl"), "-o", &path(folder.path(), "none.out")]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    assert!(!folder.path().join("none.out").exists());
    let empty = tempfile::tempdir().unwrap();
    let nothing = run(&["show", empty.path().to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("there is no recording in"), "{}", stderr(&nothing));
}

#[test]
fn a_recording_knows_its_machine() {
    let folder = tempfile::tempdir().unwrap();
    let header = |more: &[&str], name: &str| -> Value {
        let out = path(folder.path(), name);
        let arguments = ["cyclic", "--samples", "1", "--threads", "1", "--quiet", "--out", &out];
        let output = run(&[&arguments[..], more].concat());
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
        let text = std::fs::read_to_string(PathBuf::from(out)).unwrap();
        serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap()["header"].clone()
    };
    let named = header(&["--node", "left", "--label", "rack=7"], "a");
    assert_eq!((&named["node"]["name"], &named["node"]["labels"]["rack"]), (&"left".into(), &"7".into()));
    let (plain, anonymous) = (header(&[], "b"), header(&["--anonymous"], "c"));
    assert!(plain["node"]["name"].is_string() && anonymous["node"]["name"].is_null());
    assert_eq!(plain["node"]["machine"], anonymous["node"]["machine"]);
    assert!(plain["id"].as_str().unwrap().len() == 32 && plain["id"] != anonymous["id"]);
}

#[test]
fn the_machine_that_is_late_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, late) in [("n1", 50), ("n2", 51), ("n3", 50), ("n4", 380)] {
        std::fs::write(folder.path().join(name).with_extension("jsonl"), late_by(name, late)).unwrap();
    }
    let all = folder.path().to_str().unwrap();
    let shown = stdout(&run(&["show", all]));
    assert!(shown.contains("n4 is later than the other nodes: its median by 330 µs"), "{shown}");
    assert_eq!(shown.matches("is later than the other nodes").count(), 2, "by median and p99: {shown}");
    let nodes = json(&["show", "--json", all], 0)["nodes"].clone();
    let out = |value: &Value| (value["node"] == "n4") == (value["stands_out"] == true);
    assert!(nodes[0]["nodes"].as_array().unwrap().iter().all(out), "{nodes}");
    let wide = json(&["show", "--json", "--margin", "1ms", all], 0)["nodes"][0]["nodes"].clone();
    assert!(wide.as_array().unwrap().iter().all(|row| row["stands_out"] == false), "{wide}");
    // Nine blocks are too few for a statement.
    let compared = json(&["compare", "--format", "json", all, all], 3);
    assert_eq!(compared["compared"].as_array().unwrap().len(), 4, "each machine with itself");
}

#[test]
fn of_very_many_pairs_those_that_differ_are_shown() {
    let (base, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..205 {
        let node = format!("n{number:03}");
        let later = if number == 204 { 300 } else { 0 };
        for (folder, late) in [(&base, 50), (&new, 50 + later)] {
            let path = folder.path().join(&node).with_extension("jsonl");
            std::fs::write(path, late_for(&node, late, 70)).unwrap();
        }
    }
    let [base, new] = [&base, &new].map(|folder| folder.path().to_str().unwrap());
    for format in ["text", "md"] {
        let shown = stdout(&run(&["compare", "--format", format, base, new]));
        assert!(shown.contains("n000") && shown.contains("n204") && !shown.contains("n200"), "{shown}");
        assert!(shown.contains("5 more pairs of conditions, of which none differ: "), "{shown}");
    }
    let all = json(&["compare", "--format", "json", base, new], 1)["compared"].clone();
    assert_eq!(all.as_array().unwrap().len(), 205);
}

/// A recording of `node` whose latencies are about `micros`.
fn late_by(node: &str, late: u32) -> String {
    late_for(node, late, 9)
}

/// With this number of blocks.
fn late_for(node: &str, late: u32, blocks: u32) -> String {
    let text = of("cyclic", node, &serde_json::json!({ "name": node }));
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut header = lines.next().unwrap();
    let condition = header["header"]["conditions"][0].clone();
    header["header"]["conditions"] = [condition].into();
    let block = |second: u32| {
        let at = howlate_model::MonotonicTime::from_nanos;
        let [from, until] = [second, second + 1].map(|second| at(i64::from(second) * 1_000_000_000));
        let mut block = howlate_model::Block { from, until, ..howlate_model::Block::default() };
        let ran = at(i64::from(late + second * second % 7 % 3) * 1_000);
        (0..200).for_each(|_| block.record(howlate_model::Wakeup { expected: at(0), ran }, None));
        serde_json::to_string(&howlate_model::Line::Block(Box::new(block))).unwrap()
    };
    let blocks: Vec<String> = (0..blocks).map(block).collect();
    format!("{header}\n{}\n{}\n", blocks.join("\n"), r#"{"end":{"at_ns":9,"how":"done"}}"#)
}

/// Databases and log readers add up equal series, or keep the last one only.
#[test]
fn every_export_calls_each_condition_by_a_name_of_its_own() {
    let folder = fleet(&["n1", "n2"]);
    for name in ["guest", "notify", "policies", "sleep", "watch"] {
        let recording = of(name, name, &serde_json::json!({ "name": "n3" }));
        std::fs::write(folder.path().join(format!("{name}.jsonl")), recording).unwrap();
    }
    let recordings = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let of_two = folder.path().join("n?.jsonl");
    for recording in recordings.chain([of_two]) {
        let recording = recording.to_str().unwrap();
        for (format, begins, ends) in [
            ("influx", "howlate,", " "),
            ("hlog", "Tag=", ","),
            ("hgrm", "#[Condition = ", "]"),
            ("lava", "lava-test-case ", " "),
        ] {
            let text = stdout(&run(&["show", recording, "--format", format]));
            let names = text.lines().filter_map(|line| line.strip_prefix(begins)?.split(ends).next());
            let names: Vec<&str> = names.collect();
            let mut different = names.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), names.len(), "{recording} as {format}: {names:?}");
        }
    }
}

#[test]
fn machines_are_the_rows_of_a_picture() {
    let folder = fleet(&["n1", "n2", "n3"]);
    let path = folder.path().to_str().unwrap();
    let svg = run(&["report", path, "--chart", "nodes", "-o", "-"]);
    assert_eq!(svg.status.code(), Some(0), "{}", stderr(&svg));
    let svg = stdout(&svg);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for name in ["n1", "n2", "n3"] {
        assert!(texts.contains(&name), "{name}: {texts:?}");
    }
    let page = stdout(&run(&["report", path, "-o", "-"]));
    assert!(page.contains("<section id=\"fleet\">") && page.contains("<figure id=\"nodes\">"), "{page}");
    // One recording, copied for each machine.
    assert!(page.contains("None of 3 nodes stands out"), "{page}");
    let output = run(&["report", &format!("{path}/n1.jsonl"), "--chart", "nodes", "-o", "-"]);
    assert_eq!(output.status.code(), Some(2), "one machine is no fleet");
}

#[test]
fn of_two_machines_it_is_said_once_that_they_are_too_few() {
    let folder = fleet(&["n1", "n2"]);
    let path = folder.path().to_str().unwrap();
    let times = |output: &std::process::Output| {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        stdout(output).matches("At least three nodes are needed").count()
    };
    assert_eq!(times(&run(&["show", path])), 1);
    assert_eq!(times(&run(&["report", path, "--format", "md"])), 1);
    let page = stdout(&run(&["report", path, "-o", "-"]));
    let section = page.split_once("<h2>Nodes</h2>").unwrap().1.split_once("<figure").unwrap().0;
    assert!(!section.contains("nobody can say"), "{section}");
}

#[test]
fn where_machines_have_nothing_in_common_nothing_stands_before_the_date() {
    let folder = fleet(&["n1", "n2", "n3"]);
    let path = folder.path().to_str().unwrap();
    let note = stdout(&run(&["report", path, "--format", "md"]));
    assert!(!note.lines().any(|line| line.trim_start().starts_with('·')), "{note}");
    let page = stdout(&run(&["report", path, "-o", "-"]));
    assert!(!page.contains("<p class=\"quiet\"> ·") && !page.contains("<p class=\"quiet\">·"));
}

/// `show -o` merges and shows the result; `merge --json` prints a summary.
#[test]
fn what_is_shown_can_be_saved_as_one_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/");
    let [before, after] = ["idle-before.jsonl", "idle-after.jsonl"].map(|name| format!("{recordings}{name}"));
    let (shown, merged) = (path("shown.jsonl"), path("merged.jsonl"));
    let show = run(&["show", &before, &after, "-o", &shown, "--json"]);
    assert_eq!(show.status.code(), Some(0), "{}", stderr(&show));
    let merge = run(&["merge", &before, &after, "-o", &merged, "--json"]);
    let summary: serde_json::Value = serde_json::from_slice(&merge.stdout).unwrap();
    assert_eq!((&summary["recordings"], &summary["command"]), (&2.into(), &"merge".into()), "{summary}");
    let wakeups: u64 = summary["wakeups"].as_u64().unwrap();
    let counts = |text: &[u8]| -> u64 {
        let result: serde_json::Value = serde_json::from_slice(text).unwrap();
        result["results"].as_array().unwrap().iter().map(|result| result["count"].as_u64().unwrap()).sum()
    };
    assert_eq!(counts(&show.stdout), wakeups);
    assert_eq!(counts(&run(&["show", &merged, "--json"]).stdout), wakeups);
    let again = run(&["show", &before, &after, "-o", &shown]);
    assert!(stderr(&again).contains("already exists"), "{}", stderr(&again));
}
