//! The worst wake-ups as a trace that Perfetto and Chrome open.
//!
//! Source: the Trace Event Format of the Chromium project, `X` and `M` events.

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{MonotonicTime, Segment, WakeupBreakdown};
use serde_json::{Value, json};

use crate::cause_words::{part_in_words, segment_in_words};
use crate::condition::condition_name;

/// A lane for each CPU of every traced condition; on it the worst wake-ups of the condition with their parts. Times are
/// those of the recording's clock.
pub fn trace(analyses: &[Analysis]) -> Result<String, serde_json::Error> {
    let outcomes = analyses.iter().flat_map(Analysis::outcomes);
    let events: Vec<Value> =
        outcomes.enumerate().flat_map(|(number, outcome)| of_condition(number + 1, outcome)).collect();
    let document = json!({ "displayTimeUnit": "ns", "traceEvents": events });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// What the format calls a process stands for a condition.
fn of_condition(process: usize, outcome: &Outcome) -> Vec<Value> {
    let Some(traces) = &outcome.traces else { return Vec::new() };
    let worst = traces.ledger.worst();
    let mut lanes: Vec<Option<u32>> = worst.iter().map(|one| one.cpu).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let mut events = vec![named("process_name", process, 0, &condition_name(&outcome.condition))];
    for cpu in lanes {
        let name = cpu.map_or_else(|| "CPU not seen".to_owned(), |cpu| format!("CPU {cpu}"));
        events.push(named("thread_name", process, lane(cpu), &name));
    }
    events.extend(worst.iter().flat_map(|one| of_wakeup(process, one)));
    events
}

/// What the format calls a thread stands for a CPU; 1 for none. Perfetto takes 0 for the thread that has the number of its process.
fn lane(cpu: Option<u32>) -> u32 {
    cpu.map_or(1, |cpu| cpu.saturating_add(2))
}

fn named(what: &str, process: usize, lane: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": what, "pid": process, "tid": lane, "args": { "name": name } })
}

/// The whole lateness, and below it its parts.
fn of_wakeup(process: usize, one: &WakeupBreakdown) -> Vec<Value> {
    let late = one.latency.as_nanos().max(0).unsigned_abs();
    let from = MonotonicTime::from_nanos(one.at.as_nanos().saturating_sub_unsigned(late));
    let slice = |name: String, category: &str, from: MonotonicTime, nanos: u64, args: Value| {
        let (ts, dur) = (micros(from.as_nanos()), micros(i64::try_from(nanos).unwrap_or(i64::MAX)));
        json!({
            "ph": "X", "name": name, "cat": category, "pid": process, "tid": lane(one.cpu), "ts": ts, "dur": dur, "args": args,
        })
    };
    let whole = json!({ "latency_ns": one.latency });
    let mut events = vec![slice(format!("{} late", one.latency), "wake-up", from, late, whole)];
    events.extend(one.parts.iter().map(|part| {
        slice(segment_in_words(part), part.cause.part.name(), part.from, part.ns.as_nanos(), args(part))
    }));
    events
}

fn args(part: &Segment) -> Value {
    let mut args = json!({
        "part": part_in_words(part.cause.part), "kind": part.cause.kind, "ns": part.ns,
    });
    if !part.cause.name.is_empty() {
        args["name"] = json!(part.cause.name);
    }
    if let Some(pid) = part.pid {
        args["pid"] = json!(pid);
    }
    if part.merged {
        args["merged"] = json!(true);
    }
    args
}

/// The format counts in microseconds; nanoseconds are kept as decimals, exactly for ten weeks since the machine began.
fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1e3
}
