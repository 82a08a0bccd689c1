//! Event loops of programs as they are: each stays away from its wait for 30 ms, a few times.

use std::path::Path;

use serde_json::Value;

use crate::common::{self, howlate, is_installed, json, skip, stdout};

/// Ten of its iterations sleep in a coroutine.
const ASYNCIO: &str = "import asyncio, time
async def main():
    for turn in range(100):
        await asyncio.sleep(0.005)
        if turn % 10 == 9: time.sleep(0.03)
asyncio.run(main())";

/// Ten of its iterations compute.
const NODE: &str = "let turns = 0;
function crunch() { const end = Date.now() + 30; while (Date.now() < end); }
const timer = setInterval(() => { if (++turns % 10 === 0) crunch(); if (turns === 100) clearInterval(timer); }, 5);";

fn watched(out: &Path, program: &[&str]) -> Option<Value> {
    let out = out.to_str().unwrap();
    let asked = ["watch", "--json", "--quiet", "--no-save", "--out", out, "--"];
    common::has_bpf().then(|| json(&[&asked[..], program].concat(), 0))
}

/// The event loop that came back most often, of threads of such a name.
fn event_loop<'a>(document: &'a Value, name: &str) -> &'a Value {
    let results = document["results"].as_array().unwrap().iter();
    let of_them = results.filter(|one| one["condition"]["name"].as_str().unwrap().starts_with(name));
    let loops = of_them.map(|one| &one["rhythm"]["event_loop"]).filter(|one| !one.is_null());
    loops.max_by_key(|one| one["iterations"].as_u64()).unwrap_or_else(|| panic!("{document}"))
}

fn spent(of: &Value, what: &str) -> u64 {
    of[what].as_u64().unwrap_or_else(|| panic!("{of}"))
}

const SPENT: [&str; 3] = ["running_ns", "blocked_ns", "waiting_for_cpu_ns"];

/// Whether an iteration has the program's sleep of 30 ms in it, and little else. Python takes the time at which to go on
/// before it calls: where the thread then waits for its CPU, it is not blocked for all of the 30 ms.
fn slept(one: &Value) -> bool {
    let [running, blocked, ready] = SPENT.map(|what| spent(one, what));
    blocked > running + ready && running + blocked + ready >= 30_000_000
}

/// How often the program is watched on a machine that is in its way.
const TRIES: usize = 3;

/// The event loop of Python's program. Again where an iteration waited for its CPU for so long that it is among the longest
/// without having slept, or where the machine told of no switch, so that it is not known in which call one slept; the last is
/// what it is.
fn asyncio(out: &Path) -> Option<Value> {
    let was_kept_from_it = |one: &Value| {
        let [running, _, ready] = SPENT.map(|what| spent(one, what));
        !slept(one) && ready > running && ready > 10_000_000
    };
    let is_in_the_way = |found: &Value| {
        let calls = found["blocked_in"].as_array().into_iter().flatten();
        let known: u64 = calls.map(|one| spent(one, "count")).sum();
        known < spent(found, "long") || found["longest"].as_array().unwrap().iter().any(was_kept_from_it)
    };
    let watched = || Some(event_loop(&watched(out, &[&super::python(), "-c", ASYNCIO])?, "python").clone());
    let mut found = watched()?;
    for _ in 1..TRIES {
        if !is_in_the_way(&found) {
            break;
        }
        std::fs::remove_file(out).unwrap();
        found = watched()?;
    }
    Some(found)
}

#[test]
fn a_sleep_in_a_coroutine_is_found_and_told_from_work() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("loop.jsonl");
    let Some(found) = asyncio(&out) else { return };
    assert_eq!((found["wait"].as_str(), found["above_ns"].as_u64()), (Some("epoll"), Some(10_000_000)));
    assert!(found["iterations"].as_u64().unwrap() >= 100, "{found}");
    assert!(found["long"].as_u64().unwrap() >= 10, "{found}");
    assert_eq!(found["blocked_in"][0]["name"], "clock_nanosleep", "{found}");
    assert!(found["blocked_in"][0]["count"].as_u64().unwrap() >= 10, "{found}");
    for one in found["longest"].as_array().unwrap() {
        assert!(slept(one), "{one} of {found}");
    }
    // The recording says it again.
    let shown = howlate(&["show", out.to_str().unwrap()]).env("COLUMNS", "400").output().unwrap();
    let text = stdout(&shown);
    assert!(text.contains("event loop did not come back within 10.0 ms in"), "{text}");
    assert!(text.contains("blocked in `time.sleep`"), "{text}");
    assert!(text.contains("await asyncio.to_thread(f, …)"), "{text}");
}

#[test]
fn work_in_a_callback_of_node_is_running() {
    if !is_installed("node") {
        return skip("node is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(document) = watched(&folder.path().join("node.jsonl"), &["node", "-e", NODE]) else { return };
    let found = event_loop(&document, "node");
    assert!(found["long"].as_u64().unwrap() >= 10, "{found}");
    let all = &found["long_spent"];
    // It may have been kept from its CPU, but it did not sleep.
    assert!(
        spent(all, "blocked_ns") < spent(all, "running_ns") + spent(all, "waiting_for_cpu_ns"),
        "{found}"
    );
}

#[test]
fn what_is_long_is_what_was_asked_for() {
    if !is_installed("python3") || !common::has_bpf() {
        return skip("python3 is not installed, or bpf cannot be had");
    }
    let asked = ["watch", "--json", "--quiet", "--no-save", "--loop-above", "10s", "--"];
    let document = json(&[&asked[..], &[&super::python(), "-c", ASYNCIO]].concat(), 0);
    let found = event_loop(&document, "python");
    assert_eq!((found["long"].as_u64(), found["longest"].as_array().unwrap().len()), (Some(0), 0), "{found}");
}
