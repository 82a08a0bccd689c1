//! Reading of timeline files.

use std::collections::BTreeMap;
use std::path::Path;

use howlate_model::{CpuHolder, CpuTimeline, HolderKind, MonotonicTime, Occupant, SOFTIRQS, Span};
use howlate_safe_path::foreign;
use serde::Deserialize;

use crate::bounded::text_within;

const LONGEST: u64 = 64 << 20;
/// Process id of the CPUs' lanes.
const CPUS: u32 = 0;
/// A complete event: a bar.
const COMPLETE: &str = "X";
/// Name of unknown occupants.
const NOT_SEEN: &str = "not seen";

#[derive(Deserialize)]
struct TraceFile {
    #[serde(rename = "traceEvents")]
    events: Vec<TraceEvent>,
}

#[derive(Deserialize)]
struct TraceEvent {
    ph: String,
    pid: u32,
    /// Absent in metadata of a process.
    #[serde(default)]
    tid: u32,
    name: String,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
}

/// Timelines of a file; `None` if it cannot be read.
pub fn read_timeline(path: &Path) -> Option<Vec<CpuTimeline>> {
    let trace: TraceFile =
        serde_json::from_str(&text_within(foreign::open_file_nofollow(path).ok()?, LONGEST).ok()?).ok()?;
    let mut cpus: BTreeMap<u32, Vec<Occupant>> = BTreeMap::new();
    for event in trace.events.into_iter().filter(|event| event.pid == CPUS) {
        match event.ph.as_str() {
            COMPLETE => cpus.entry(event.tid).or_default().push(occupant(&event)),
            // An idle CPU has only its lane's name.
            _ if event.name == "thread_name" => drop(cpus.entry(event.tid).or_default()),
            _ => {}
        }
    }
    Some(cpus.into_iter().map(|(cpu, stretches)| CpuTimeline { cpu, stretches }).collect())
}

fn occupant(event: &TraceEvent) -> Occupant {
    let from = Some(MonotonicTime::from_nanos(nanos(event.ts)));
    Occupant { who: who(&event.name), ns: Span::from_nanos(nanos(event.dur).max(0).unsigned_abs()), from }
}

#[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds, far from the end of the range")]
fn nanos(micros: f64) -> i64 {
    (micros * 1e3).round() as i64
}

/// `rsync (9)` is a thread; interrupts and softirqs have no pid.
fn who(name: &str) -> CpuHolder {
    let thread = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let thread = thread.and_then(|(name, pid)| Some((name, pid.parse().ok()?)));
    let (holder, name, pid) = match thread {
        Some((name, pid)) => (HolderKind::Thread, name, Some(pid)),
        None if name == NOT_SEEN => (HolderKind::NotSeen, "", None),
        None if SOFTIRQS.contains(&name) => (HolderKind::Softirq, name, None),
        None => (HolderKind::Interrupt, name, None),
    };
    CpuHolder { holder, pid, name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_read_back_cpu_by_cpu() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.trace.json");
        let text = r#"{"displayTimeUnit":"ns","traceEvents":[
            {"ph":"M","pid":0,"tid":1,"name":"thread_name","args":{"name":"CPU 1"}},
            {"ph":"M","pid":0,"tid":3,"name":"thread_name","args":{"name":"CPU 3"}},
            {"ph":"X","pid":0,"tid":3,"name":"a (b) (9)","ts":1.500,"dur":2.001},
            {"ph":"X","pid":0,"tid":3,"name":"NET_RX","ts":3.501,"dur":0.007},
            {"ph":"X","pid":0,"tid":3,"name":"not seen","ts":4.000,"dur":1.000},
            {"ph":"M","pid":0,"name":"process_name","args":{"name":"CPUs"}},
            {"ph":"X","pid":1,"tid":0,"name":"victim's part","ts":1.000,"dur":9.000}]}"#;
        std::fs::write(&path, text).unwrap();
        let cpus = read_timeline(&path).unwrap();
        assert_eq!(
            cpus.iter().map(|timeline| (timeline.cpu, timeline.stretches.len())).collect::<Vec<_>>(),
            [(1, 0), (3, 3)]
        );
        let [thread, softirq, unseen] = &cpus[1].stretches[..] else { panic!("{cpus:?}") };
        assert_eq!(
            (thread.who.name.as_str(), thread.who.pid, thread.who.holder),
            ("a (b)", Some(9), HolderKind::Thread)
        );
        assert_eq!(
            (thread.from, thread.ns),
            (Some(MonotonicTime::from_nanos(1_500)), Span::from_nanos(2_001))
        );
        assert_eq!((softirq.who.holder, unseen.who.holder), (HolderKind::Softirq, HolderKind::NotSeen));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(read_timeline(&path), None);
    }
}
