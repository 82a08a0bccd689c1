//! `record --requests` of a server whose requests wait in known ways, held against the server's own readings of the clock.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::claims::{Scores, TruthClaim, score};
use crate::bench::{compiled, output};

/// How long each wait is at least, in nanoseconds: `LENGTH` in `server.c`.
const LENGTH: i64 = 3_000_000;
/// Nanoseconds by which a part may be shorter than that, or longer than what was waited: 2 %. What takes the CPU of the
/// thread that works in the wait, seen there as a step of the clock, may be a part of its own.
const NEAR: i64 = LENGTH / 50;
/// Requests of each way of waiting, per second of the attack.
const PER_SECOND: u64 = 10;

/// A wait of a request, in nanoseconds of `CLOCK_MONOTONIC`.
struct StampedWait<'a> {
    way: &'a str,
    from: i64,
    until: i64,
    /// How long the thread that worked in it did not have its CPU.
    away: i64,
}

/// The server runs as long as `seconds` of requests take, and is watched from before its first one.
pub fn attack(program: &Path, folder: &Path, seconds: u64, scores: &mut Scores) -> io::Result<()> {
    let server = compiled("truth/server.c", folder)?;
    let out = tempfile::tempdir_in(folder)?;
    let script = format!("read -r line && exec {} {}", server.display(), seconds * PER_SECOND);
    let mut shell = Command::new("sh");
    let server = shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let pid = server.id().to_string();
    let mut recording = Command::new(program);
    recording.args(["record", "--requests", &pid, "--late-above", "1ms", "--out"]).arg(out.path());
    let mut recorder = recording.stderr(Stdio::piped()).spawn()?;
    let mut lines = recorder.stderr.take().map(BufReader::new);
    let stamps = begin(server, &mut lines);
    skip_to(&mut lines, "no longer measured");
    kill_process(Pid::from_child(&recorder), Signal::INT)?;
    recorder.wait()?;
    let shown = output(Command::new(program).args(["show", "--json", "--details"]).arg(out.path()))?;
    let document: Value = serde_json::from_slice(&shown.stdout)?;
    judge(&document, &stamps?, scores);
    Ok(())
}

/// Lets the server run once it is watched; returns what it prints.
fn begin(mut server: std::process::Child, lines: &mut Option<BufReader<ChildStderr>>) -> io::Result<String> {
    skip_to(lines, "Recording since");
    if let Some(mut stdin) = server.stdin.take() {
        stdin.write_all(b"begin\n")?;
    }
    Ok(String::from_utf8_lossy(&server.wait_with_output()?.stdout).into_owned())
}

/// Also ends with the recorder.
fn skip_to(lines: &mut Option<BufReader<ChildStderr>>, text: &str) {
    let mut lines = lines.iter_mut().flat_map(|lines| lines.lines().map_while(Result::ok));
    lines.find(|line| line.contains(text));
}

fn waits(text: &str) -> impl Iterator<Item = StampedWait<'_>> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let way = fields.next()?;
        let mut nanos = || fields.next()?.parse().ok();
        Some(StampedWait { way, from: nanos()?, until: nanos()?, away: nanos()? })
    })
}

fn judge(document: &Value, stamps: &str, scores: &mut Scores) {
    let all: Vec<&Value> = document["incidents"].as_array().into_iter().flatten().collect();
    let requests: Vec<&Value> = all.into_iter().filter(|incident| incident["kind"] == "request").collect();
    let stamped = stamps.lines().count();
    let counted = document["requests"][0]["count"].as_u64();
    score(scores, TruthClaim::RequestCounts, counted == u64::try_from(stamped).ok(), || {
        format!("{counted:?} of {stamped}")
    });
    for incident in &requests {
        let parts = incident["parts"].as_array().into_iter().flatten();
        let sum: i64 = parts.map(|part| nanos(&part["ns"])).sum();
        score(scores, TruthClaim::RequestSums, sum == nanos(&incident["latency_ns"]), || {
            incident.to_string()
        });
    }
    for wait in waits(stamps) {
        let is_of = |incident: &&&Value| {
            let (at, latency) = (nanos(&incident["at_ns"]), nanos(&incident["latency_ns"]));
            at - latency <= wait.from && wait.until <= at
        };
        let request = requests.iter().find(is_of);
        score(scores, TruthClaim::RequestKept, request.is_some(), || wait.way.to_owned());
        request.into_iter().for_each(|request| judge_wait(request, &wait, scores));
    }
}

fn judge_wait(request: &Value, wait: &StampedWait<'_>, scores: &mut Scores) {
    let parts: Vec<&Value> = request["parts"].as_array().into_iter().flatten().collect();
    let spent = |is_due: bool| {
        let parts = parts.iter().filter(|part| is_due_to(part, wait.way) == is_due);
        parts.map(|part| nanos(&part["ns"])).sum::<i64>()
    };
    let (due, rest) = (spent(true), spent(false));
    let what = || {
        format!(
            "{}: {due} of {} ns, {} without its CPU, in {request}",
            wait.way,
            wait.until - wait.from,
            wait.away
        )
    };
    // Besides this work, the server reads, prints and answers.
    let longest = if wait.way == "own_work" { nanos(&request["latency_ns"]) } else { wait.until - wait.from };
    let is_near = (LENGTH - wait.away - NEAR..=longest + NEAR).contains(&due);
    score(scores, TruthClaim::RequestTimes, is_near, what);
    score(scores, TruthClaim::RequestCauses, due > rest, what);
}

/// Whether a part of a request is what this way of waiting waits for.
fn is_due_to(part: &Value, way: &str) -> bool {
    let is_through = |thread: &str| part["through"] == thread || part["name"] == thread;
    match way {
        "own_work" => part["part"] == "at_work",
        "own_sleep" => part["call"] == "clock_nanosleep" && part["through"].is_null(),
        "sleeping_holder" | "working_holder" | "file_lock" => is_through("holder"),
        _ => is_through("helper"),
    }
}

fn nanos(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scored(parts: &Value, count: u64) -> Scores {
        scored_with(parts, count, 0)
    }

    fn scored_with(parts: &Value, count: u64, away: i64) -> Scores {
        let incident =
            json!({"kind": "request", "at_ns": 4_000_000, "latency_ns": 3_900_000, "parts": parts});
        let document = json!({"incidents": [incident], "requests": [{"count": count}]});
        let mut scores = Scores::new();
        judge(&document, &format!("sleeping_holder 200000 3300000 {away}\n"), &mut scores);
        scores
    }

    #[test]
    fn what_interrupted_another_thread_is_not_time_behind_it() {
        let parts = json!([{"part": "blocked", "through": "holder", "ns": 2_900_000}, {"part": "lost_again", "ns": 1_000_000}]);
        let is_right = |away| scored_with(&parts, 1, away)[&TruthClaim::RequestTimes].right == 1;
        assert_eq!([0, 30_000, 100_000].map(is_right), [false, false, true]);
    }

    #[test]
    fn time_behind_another_thread_is_wrong() {
        let parts = |through: &str, ns: i64| json!([{"part": "blocked", "through": through, "ns": ns}, {"part": "at_work", "ns": 3_900_000 - ns}]);
        assert!(scored(&parts("holder", 3_050_000), 1).values().all(|score| score.right == 1));
        let wrong = |parts: &Value, claim| scored(parts, 1)[&claim].right == 0;
        assert!(wrong(&parts("keeper", 3_050_000), TruthClaim::RequestCauses));
        assert!(wrong(&parts("holder", 3_200_000), TruthClaim::RequestTimes));
        assert!(wrong(&parts("holder", 2_900_000), TruthClaim::RequestTimes));
        assert_eq!(scored(&parts("holder", 3_050_000), 2)[&TruthClaim::RequestCounts].right, 0);
        let hole = json!([{"part": "blocked", "through": "holder", "ns": 3_050_000}]);
        assert!(wrong(&hole, TruthClaim::RequestSums));
    }
}
