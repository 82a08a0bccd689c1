//! Requests to servers, against the client's and the server's own readings of the clock.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{build_c, has_bpf, howlate, json, run, send, stderr, stdout};

/// Requests over TCP, of which one in ten meets a lock; then some over a socket of the Unix domain.
const REQUESTS: u64 = 200;
const OVER_UNIX: u64 = 20;
/// Below the time for which the keeper sleeps.
const LATE: &str = "4ms";

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
    assert!(line.contains("2 answers of HTTP/2, which answers several requests at once"), "{text}");
    let all = stdout(&run(&["show", "--details", path.to_str().unwrap()]));
    assert!(all.contains("keeper blocked in clock_nanosleep"), "{all}");
}

/// Of how many requests other threads had the CPU for most of the time, or the keeper's wake-up raised no event, as in some virtual
/// machines now and then. Any other late one has waited for the keeper's sleep.
fn disturbed(late: &[&Value]) -> usize {
    let nanos = |part: &Value| part["ns"].as_u64().unwrap();
    let is_disturbed = |incident: &&&Value| {
        let (parts, length) =
            (incident["parts"].as_array().unwrap(), incident["latency_ns"].as_u64().unwrap());
        let own = ["long_work", "lock", "system_call"].map(Value::from);
        let taken: u64 = parts.iter().filter(|part| !own.contains(&part["kind"])).map(nanos).sum();
        let is_unsplit =
            |part: &Value| part["name"] == "keeper" && part["kind"] == "lock" && nanos(part) * 2 > length;
        taken * 2 > length || parts.iter().any(is_unsplit)
    };
    late.iter().filter(is_disturbed).count()
}

/// The recorder watches the server from before its first request to its end, of which it says so.
#[test]
fn a_recorder_counts_requests_and_those_that_are_late_are_incidents() {
    if has_bpf() {
        record_requests(5);
    }
}

/// Once more where other programs disturbed it, up to so many times.
fn record_requests(attempts: u32) {
    let Some((folder, alone)) = super::record::place() else { return };
    let (source, program) = (folder.path().join("s.c"), folder.path().join("server"));
    std::fs::write(&source, PROGRAM).unwrap();
    if build_c(&source, &program, &["-O1", "-pthread"]).is_none() {
        return;
    }
    let (times, out) = (folder.path().join("times"), folder.path().join("recorded"));
    let socket = folder.path().join("u");
    record(&format!("{} {} 2>{}", program.display(), socket.display(), times.display()), &out);
    let out = out.to_str().unwrap();
    let document = json(&["show", out, "--json", "--details"], 0);
    let port = printed(&times, "port")[0];
    let count = |name: &str| {
        let mut rows = document["requests"].as_array().unwrap().iter();
        rows.find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {document}")).clone()
    };
    let over_tcp = count(&format!("sh, port {port}"));
    assert_eq!(over_tcp["count"], REQUESTS, "{over_tcp}");
    assert_eq!(count("sh, Unix sockets")["count"], OVER_UNIX);
    assert_eq!(document["omitted_answers"]["http2"], 2);
    let is_request = |incident: &&Value| incident["kind"] == "request";
    let late: Vec<&Value> = document["incidents"].as_array().unwrap().iter().filter(is_request).collect();
    let of_port = |incident: &&&Value| incident["server"]["port"] == port;
    assert_eq!(over_tcp["late"], late.iter().filter(of_port).count(), "{document}");
    // The keeper sleeps for longer than that in each of these, but other programs may have taken the CPU instead.
    assert!(late.len() as u64 >= REQUESTS / 10, "{document}");
    for incident in &late {
        let parts = incident["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, incident["latency_ns"].as_u64().unwrap(), "{incident}");
    }
    let slept = late
        .iter()
        .flat_map(|incident| incident["parts"].as_array().unwrap())
        .filter(|part| part["through"] == "keeper" && part["call"] == "clock_nanosleep");
    let (slept, disturbed) = (slept.count() as u64, disturbed(&late));
    if slept < REQUESTS / 10 && disturbed > 0 && attempts > 1 {
        drop((alone, folder));
        return record_requests(attempts - 1);
    }
    assert!(slept >= REQUESTS / 10, "{slept}, {disturbed} disturbed: {document}");
    let text = stdout(&run(&["show", out]));
    assert!(text.contains("How long requests took") && text.contains(&format!("sh, port {port}")), "{text}");
    let why = stdout(&run(&["why", out, "--details"]));
    assert!(why.contains("answered a request after"), "{why}");
    let page = folder.path().join("page.html");
    run(&["report", out, "--out", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("How long requests took"));
}

/// Records into `out` the requests of a server, from before it is started by this line of a shell until it has ended.
fn record(server: &str, out: &Path) {
    let script = format!("read -r line && exec {server}");
    let mut server =
        Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let pid = server.id().to_string();
    let servers = format!("{pid},no-such-server");
    // Of no thread are waits recorded.
    let only = ["--process", "no-such-process"];
    let options = ["record", "--requests", &servers, "--late-above", LATE, "--out", out.to_str().unwrap()];
    let mut recorder = howlate(&[&options, &only[..]].concat()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(recorder.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut skip_to = |text: &str| assert!(lines.any(|line| line.contains(text)), "{text}");
    skip_to("Recording since");
    skip_to("No process is called `no-such-server` now");
    server.stdin.take().unwrap().write_all(b"begin\n").unwrap();
    assert!(server.wait().unwrap().success());
    skip_to(&format!("Requests of {pid} are no longer measured: there is no process {pid}"));
    send(recorder.id(), Signal::INT);
    assert_eq!(recorder.wait().unwrap().code(), Some(0));
}

/// A server that starts a process for each of five connections, which answers late and ends; it prints their ids.
const STARTS_PROCESSES: &str = r#"
import os, socket, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
if os.fork() == 0:
    for _ in range(5):
        with socket.create_connection(server.getsockname()) as connection:
            connection.send(b"a")
            connection.recv(1)
    os._exit(0)
for _ in range(5):
    connection, _ = server.accept()
    child = os.fork()
    if child == 0:
        with open("/proc/self/comm", "w") as name:
            name.write("answerer")
        connection.recv(1)
        time.sleep(0.006)
        connection.send(b"b")
        os._exit(0)
    connection.close()
    print("child", child, flush=True)
    os.waitpid(child, 0)
"#;

#[test]
fn an_answer_is_of_the_process_that_gave_it_and_has_ended() {
    if !has_bpf() {
        return;
    }
    let Some((folder, _alone)) = super::record::place() else { return };
    let (program, out) = (folder.path().join("server.py"), folder.path().join("recorded"));
    let children = folder.path().join("children");
    std::fs::write(&program, STARTS_PROCESSES).unwrap();
    record(&format!("python3 {} >{}", program.display(), children.display()), &out);
    let document = json(&["show", out.to_str().unwrap(), "--json", "--details"], 0);
    let late = document["incidents"].as_array().unwrap().iter();
    let late = late.filter(|incident| incident["kind"] == "request").map(|incident| &incident["thread"]);
    let mut pids = Vec::new();
    for thread in late {
        assert_eq!(thread["name"], "answerer", "{document}");
        pids.push(thread["pid"].as_u64().unwrap());
    }
    assert_eq!(pids, printed(&children, "child"), "{document}");
}

#[test]
fn a_server_has_a_name() {
    let refused = stderr(&run(&["record", "--requests", "nginx,"]));
    assert!(refused.contains("write the name or id of a process, such as `nginx`"), "{refused}");
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
