//! The worst wake-ups in the Trace Event Format, for Perfetto and Chrome.
//!
//! Source: the Trace Event Format of the Chromium project, `X` and `M` events.

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{MonotonicTime, Segment, WakeupBreakdown};
use serde_json::{Value, json};

use crate::cause_words::{part_in_words, segment_in_words};
use crate::condition::condition_name;

/// A track for each CPU of every traced condition, with its worst wake-ups and their parts. Times are those of the recording's clock.
pub fn trace(analyses: &[Analysis]) -> Result<String, serde_json::Error> {
    let outcomes = analyses.iter().flat_map(Analysis::outcomes);
    let events: Vec<Value> =
        outcomes.enumerate().flat_map(|(number, outcome)| condition_events(number + 1, outcome)).collect();
    let document = json!({ "displayTimeUnit": "ns", "traceEvents": events });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// A condition is a "process" of the format.
fn condition_events(process: usize, outcome: &Outcome) -> Vec<Value> {
    let Some(traces) = &outcome.traces else { return Vec::new() };
    let worst = traces.ledger.worst();
    let mut lanes: Vec<Option<u32>> = worst.iter().map(|wakeup| wakeup.cpu).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let mut events = vec![metadata("process_name", process, 0, &condition_name(&outcome.condition))];
    for cpu in lanes {
        let name = cpu.map_or_else(|| "CPU not seen".to_owned(), |cpu| format!("CPU {cpu}"));
        events.push(metadata("thread_name", process, lane(cpu), &name));
    }
    events.extend(worst.iter().flat_map(|wakeup| wakeup_events(process, wakeup)));
    events
}

/// A CPU is a "thread" of the format; 1 for an unknown CPU. Perfetto merges thread 0 with the process.
fn lane(cpu: Option<u32>) -> u32 {
    cpu.map_or(1, |cpu| cpu.saturating_add(2))
}

fn metadata(kind: &str, process: usize, lane: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": kind, "pid": process, "tid": lane, "args": { "name": name } })
}

/// A slice of the whole lateness, with slices of its parts below.
fn wakeup_events(process: usize, wakeup: &WakeupBreakdown) -> Vec<Value> {
    let late = wakeup.latency.as_nanos().max(0).unsigned_abs();
    let from = MonotonicTime::from_nanos(wakeup.at.as_nanos().saturating_sub_unsigned(late));
    let slice = |name: String, category: &str, from: MonotonicTime, nanos: u64, args: Value| {
        let (ts, dur) = (micros(from.as_nanos()), micros(i64::try_from(nanos).unwrap_or(i64::MAX)));
        json!({
            "ph": "X", "name": name, "cat": category, "pid": process, "tid": lane(wakeup.cpu), "ts": ts, "dur": dur, "args": args,
        })
    };
    let whole = json!({ "latency_ns": wakeup.latency });
    let mut events = vec![slice(format!("{} late", wakeup.latency), "wake-up", from, late, whole)];
    events.extend(wakeup.parts.iter().map(|part| {
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

/// In microseconds with decimals; exact to the nanosecond for ten weeks of uptime.
fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1e3
}
