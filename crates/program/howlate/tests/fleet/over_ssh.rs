//! `howlate fleet --on ssh`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json as object};

use crate::common::{is_root, json, may_use_realtime, run, send, skip, stderr, stdout, wait_until};
use crate::sshd::Hosts;
use crate::{assert_measured, folder, folder_for_hours, nodes, with_plan};

#[test]
fn nodes_that_fail_are_named_and_the_others_count() {
    let full = if is_root() { "full-1" } else { "n3" };
    let names = ["n1", "n2", "gone-1", "stranger-1", "barred-1", "arm-1", full];
    let Some(hosts) = Hosts::start(&names) else { return };
    let folder = folder();
    let on = format!("ssh:{}", names.join(","));
    let arguments = ["run", "plan.toml", "--on", &on, "--quiet", "--at-once", "3"];
    let output = hosts.run(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let found = nodes(&output);
    for (name, expected) in [
        ("gone-1", "not started: ssh: connect to host 127.0.0.1 port 1: Connection refused"),
        ("stranger-1", "not started: Host key verification failed."),
        ("barred-1", "Permission denied (publickey"),
        ("arm-1", "failed: its processor is pdp11, and the program is for "),
        ("full-1", "No space left on device"),
    ] {
        let state = found.iter().find(|node| node.0 == name).map(|node| node.1.as_str());
        assert!(state.is_none_or(|state| state.contains(expected)), "{name}: {state:?}");
    }
    assert_eq!(found.len(), names.len());
    let measured: &[&str] = if is_root() { &["n1", "n2"] } else { &["n1", "n2", "n3"] };
    assert_measured(&output, folder.path(), measured);
    let again = hosts.run(folder.path(), &arguments);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("holds a fleet already"), "{}", stderr(&again));
    // Finished nodes are not measured again.
    let before = fs::read(folder.path().join("plan-fleet/n1.jsonl")).unwrap();
    let resumed = hosts.run(folder.path(), &[&arguments[..], &["--resume"]].concat());
    assert_eq!(nodes(&resumed), found, "{}", stderr(&resumed));
    assert!(fs::read(folder.path().join("plan-fleet/n1.jsonl")).unwrap() == before);
    let other = hosts.run(folder.path(), &["run", "plan.toml", "--on", "ssh:n1", "--resume"]);
    assert!(stderr(&other).contains("is a fleet of another plan"), "{}", stderr(&other));
    assert_published(&hosts, folder.path(), &arguments, measured);
}

/// JSON of all commands of a fleet follows the schema, and contains the result that `show` prints.
fn assert_published(hosts: &Hosts, folder: &Path, arguments: &[&str], measured: &[&str]) {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/fleet.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let states = schema["$defs"]["NodeState"]["oneOf"].as_array().unwrap();
    let shown = json(&["show", "--json", folder.join("plan-fleet").to_str().unwrap()], 0);
    let run_again = [arguments, &["--resume", "--json"]].concat();
    for arguments in
        [&run_again[..], &["status", "plan-fleet", "--json"], &["collect", "plan-fleet", "--json"]]
    {
        let output = hosts.run(folder, arguments);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_is(&document, &schema, &[]);
        let nodes = document["nodes"].as_array().unwrap();
        for node in nodes {
            let is = |value: &&Value| value["properties"]["state"]["const"] == node["state"];
            assert_is(node, states.iter().find(is).unwrap_or_else(|| panic!("{node}")), &["node"]);
            let is_done = *node == object!({ "node": node["node"], "state": "done", "status": 0 });
            assert_eq!(is_done, measured.contains(&node["node"].as_str().unwrap()), "{node}");
        }
        let result = if arguments[0] == "status" { &Value::Null } else { &shown };
        assert_eq!(&document["result"], result, "{arguments:?}");
    }
}

/// The object has all required names of this part of the schema, those in `besides`, and no unknown ones.
#[track_caller]
fn assert_is(object: &Value, part: &Value, besides: &[&str]) {
    let names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    let required = part["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let missing: Vec<&str> =
        required.chain(besides.iter().copied()).filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} of {object}");
    let properties = part["properties"].as_object().unwrap();
    let unknown: Vec<&&str> =
        names.iter().filter(|name| !properties.contains_key(**name) && !besides.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} of {object}");
}

/// Recording of a node so far.
fn recording_text(hosts: &Hosts, node: &str) -> String {
    hosts.node(node).iter().filter_map(|folder| fs::read_to_string(folder.join("run.jsonl")).ok()).collect()
}

/// A fleet in the foreground.
fn start_fleet(hosts: &Hosts, folder: &Path, arguments: &[&str]) -> Child {
    let mut command: Command = hosts.fleet(folder, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn nodes_go_on_without_whoever_started_them() {
    let names = ["n1", "n2", "n3"];
    let Some(hosts) = Hosts::start(&names) else { return };
    let folder = folder_for_hours();
    let waiting =
        start_fleet(&hosts, folder.path(), &["run", "plan.toml", "--on", "ssh:n1,n2,n3", "--at-once", "1"]);
    // One after the other: the second and the third node find the program of the first.
    wait_until("blocks of all", || {
        names.iter().all(|name| recording_text(&hosts, name).contains("\"block\""))
    });
    send(waiting.id(), Signal::INT);
    let left = waiting.wait_with_output().unwrap();
    assert_eq!(left.status.code(), Some(3));
    let message = stderr(&left);
    assert!(
        message.contains("howlate fleet collect plan-fleet\n")
            && message.contains("howlate fleet cancel plan-fleet\n"),
        "{message}"
    );
    let status = hosts.run(folder.path(), &["status", "plan-fleet"]);
    assert!(nodes(&status).iter().all(|node| node.1 == "measures"), "{}", stdout(&status));
    // One is killed, the others are cancelled; the output of one is no recording.
    let pid = fs::read_to_string(hosts.node("n1")[0].join("pid")).unwrap().trim().parse().unwrap();
    kill_process_group(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(hosts.run(folder.path(), &["cancel", "plan-fleet"]).status.code(), Some(0));
    let state = || nodes(&hosts.run(folder.path(), &["status", "plan-fleet"]));
    wait_until("their end", || state().iter().all(|node| node.1 != "measures"));
    fs::write(hosts.node("n3")[0].join("run.jsonl"), "\u{1b}[2Jno recording\n").unwrap();
    let collected = hosts.run(folder.path(), &["collect", "plan-fleet"]);
    assert_eq!(collected.status.code(), Some(3));
    // Long folder names break lines.
    let (message, found) =
        (stdout(&collected).split_whitespace().collect::<Vec<_>>().join(" "), nodes(&collected));
    assert!(found[0].1.starts_with("failed: it ended without a word"), "{message}");
    assert_eq!(found[1].1, "cancelled: what it measured until then counts", "{message}");
    assert!(
        message.contains("n3.jsonl is not in the numbers: ")
            && message.contains("2 recordings of 2 machines"),
        "{message}"
    );
    assert!(
        message.contains("n1.jsonl") && !message.contains('\u{1b}'),
        "half a recording is named: {message}"
    );
    assert!(
        !hosts.fleets().read_dir().unwrap().flatten().any(|entry| entry.path().is_dir()),
        "nothing stays there"
    );
    let again = hosts.run(folder.path(), &["collect", "plan-fleet"]);
    assert_eq!(nodes(&again), found, "what was fetched is known");
}

#[test]
fn what_takes_too_long_is_cancelled_and_counts_until_then() {
    let Some(hosts) = Hosts::start(&["n1"]) else { return };
    let folder = folder_for_hours();
    let arguments = ["run", "plan.toml", "--on", "ssh:n1", "--timeout", "2s", "--quiet"];
    let output = hosts.run(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("n1 is not done after 2s and is cancelled."), "{}", stderr(&output));
    assert_eq!(nodes(&output)[0].1, "cancelled: what it measured until then counts");
    assert!(
        stdout(&output).contains("1 recording of 1 machine") || stdout(&output).contains("interrupted"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_node_that_is_late_is_named_and_no_other() {
    if !crate::common::is_installed("strace") {
        return skip("strace is not installed");
    }
    if !may_use_realtime() {
        return skip("without real-time priorities the other nodes may be as late");
    }
    let Some(hosts) = Hosts::start(&["n1", "n2", "n4", "n5", "slow-3"]) else { return };
    let folder = with_plan("[[sleep]]\nrounds = 5\nfor = \"1ms\"\npolicy = \"fifo:80\"\nsamples = 40\n");
    let output = hosts.run(folder.path(), &["run", "plan.toml", "--on", "ssh:n1,n2,n4,n5,slow-3", "--quiet"]);
    assert_measured(&output, folder.path(), &["n1", "n2", "n4", "n5", "slow-3"]);
    let message = stdout(&output);
    assert!(message.contains("slow-3 is later than the other nodes"), "{message}");
    let fleet = folder.path().join("plan-fleet");
    let result = json(&["show", "--json", fleet.to_str().unwrap()], 0);
    let late = |value: &Value| (value["node"] == "slow-3") == (value["stands_out"] == true);
    let medians = result["nodes"].as_array().unwrap().iter().find(|node| node["statistic"] == "p50").unwrap();
    assert!(medians["nodes"].as_array().unwrap().iter().all(late), "{medians}");
    assert!(
        stdout(&run(&["show", fleet.to_str().unwrap()])).contains("slow-3 is later than the other nodes")
    );
}

#[test]
fn recorders_begin_together_and_are_shown_as_one() {
    let Some(hosts) = Hosts::start(&["n1", "n2"]) else { return };
    let folder = folder();
    let tried = folder.path().join("tried");
    let tried = run(&["record", "--out", tried.to_str().unwrap(), "--duration", "50ms"]);
    if tried.status.code() != Some(0) {
        return skip(&stderr(&tried));
    }
    let what = ["--late-above", "20us", "--timelines", "0/h", "--duration", "1s", "--start-at", "/2s"];
    let arguments = [&["run", "record", "--on", "ssh:n1,n2", "--quiet", "--json", "--"][..], &what].concat();
    let output = hosts.run(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let fleet: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let recorded = |node: &str| {
        let folder = folder.path().join("record-fleet").join(node);
        let recording = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let recording = recording.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).min();
        assert!(recording.is_some(), "{node} has none");
        let shown = json(&["show", folder.to_str().unwrap(), "--json"], 0);
        assert!(shown["groups"].as_array().is_some_and(|groups| !groups.is_empty()), "{shown}");
    };
    ["n1", "n2"].into_iter().for_each(recorded);
    assert_eq!(fleet["nodes"].as_array().unwrap().len(), 2, "{fleet}");
    assert!(fleet["result"]["incidents"].is_array() && fleet["result"]["nodes"].is_array(), "{fleet}");
    let again = hosts.run(folder.path(), &["collect", "record-fleet"]);
    assert!(nodes(&again).iter().all(|node| node.1 == "done"), "{}", stdout(&again));
    assert!(stderr(&again).contains("Show it again with: howlate show record-fleet\n"), "{}", stderr(&again));
    assert!(
        !hosts.fleets().read_dir().unwrap().flatten().any(|entry| entry.path().is_dir()),
        "nothing stays there"
    );
}
