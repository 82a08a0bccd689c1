//! Requests to servers, against the client's and the server's own readings of the clock.

use std::path::Path;

use serde_json::Value;

use crate::common::{build_c, has_bpf, json, run, stderr, stdout};

/// Requests over TCP, of which one in ten meets a lock; then some over a socket of the Unix domain.
const REQUESTS: u64 = 200;
const OVER_UNIX: u64 = 20;

/// A reader hands each request to a worker, who needs a lock that a keeper holds, who sleeps meanwhile.
const PROGRAM: &str = include_str!("../common/server.c");

/// Numbers that the program printed after this word.
fn printed(path: &Path, word: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let number = |line: &str| line.strip_prefix(word)?.trim().parse().ok();
    text.lines().filter_map(number).collect()
}

/// Nanoseconds of the causes that `is_it` chooses.
fn time_of(why: &Value, is_it: impl Fn(&Value) -> bool) -> u64 {
    let causes = why["causes"].as_array().unwrap();
    causes.iter().filter(|cause| is_it(cause)).map(|cause| cause["late_ns"].as_u64().unwrap()).sum()
}

/// The client is a thread of the same program, whose own ends of the connections are no server's.
#[test]
fn a_request_lasts_from_its_arrival_to_the_answer_whichever_threads_work_on_it() {
    if !has_bpf() {
        return;
    }
    let _alone = super::alone();
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("s.c"), folder.path().join("server"));
    std::fs::write(&source, PROGRAM).unwrap();
    if build_c(&source, &program, &["-O1", "-pthread"]).is_none() {
        return;
    }
    let (times, path) = (folder.path().join("times"), folder.path().join("s.jsonl"));
    let script =
        format!("exec {} {} 2>{}", program.display(), folder.path().join("u").display(), times.display());
    let options = ["watch", "--requests", "--json", "--details", "--quiet", "--late-above", "1ms", "--out"];
    let document = json(&[&options[..], &[path.to_str().unwrap(), "--", "sh", "-c", &script]].concat(), 0);
    let results = document["results"].as_array().unwrap();
    let named = |name: &str| {
        let is_it = |result: &&Value| {
            result["condition"]["name"] == name && result["condition"]["mechanism"] == "request"
        };
        results.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {document}"))
    };
    let port = printed(&times, "port")[0];
    let (over_tcp, over_unix) = (named(&format!("port {port}")), named("Unix sockets"));
    assert_eq!(results.iter().filter(|result| result["condition"]["mechanism"] == "request").count(), 2);
    assert_eq!(over_tcp["count"].as_u64().unwrap(), REQUESTS, "{over_tcp}");
    let omitted = &over_tcp["rhythm"]["omitted_answers"];
    assert_eq!((&omitted["http2"], &omitted["more_data"]), (&2.into(), &0.into()), "{omitted}");
    assert_eq!(over_unix["count"].as_u64().unwrap(), OVER_UNIX, "{over_unix}");
    // The client's times have the way there and back as well.
    let longest = printed(&times, "client").into_iter().max().unwrap();
    assert!(over_tcp["latency_ns"]["max"].as_u64().unwrap() <= longest, "{longest}: {over_tcp}");
    let (why, waited) = (&over_tcp["why"], printed(&times, "worker"));
    assert_eq!(waited.len() as u64, REQUESTS / 10);
    assert_eq!(
        time_of(why, |_| true),
        why["late"]["total_ns"].as_u64().unwrap(),
        "each nanosecond has one owner"
    );
    let is_sleep_of_keeper =
        |cause: &Value| cause["through"] == "keeper" && cause["call"] == "clock_nanosleep";
    let slept = time_of(why, is_sleep_of_keeper);
    assert!(0 < slept && slept <= waited.iter().sum(), "{slept} of {waited:?} ns: {why}");
    let text = stdout(&run(&["show", path.to_str().unwrap()]));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains(&format!("{REQUESTS} requests at port {port} took")), "{text}");
    assert!(line.contains("2 of HTTP/2, which answers several requests at once"), "{text}");
    let all = stdout(&run(&["show", "--details", path.to_str().unwrap()]));
    assert!(all.contains("keeper blocked in clock_nanosleep"), "{all}");
}

/// Only BPF sees them, and nothing else is measured instead.
#[test]
fn without_bpf_there_are_no_requests() {
    for tracer in ["none", "switches", "tracefs"] {
        let refused = run(&["watch", "--requests", "--tracer", tracer, "--", "true"]);
        let error = format!("error: `--tracer {tracer}` does not see requests to servers");
        assert!(stderr(&refused).starts_with(&error), "{}", stderr(&refused));
    }
}
