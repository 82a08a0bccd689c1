//! What all CPUs did, read back from a file beside a recording.

use std::collections::BTreeMap;
use std::path::Path;

use howlate_model::{CpuHolder, CpuTimeline, HolderKind, MonotonicTime, Occupant, SOFTIRQS, Span};
use howlate_safe_path::foreign;
use serde::Deserialize;

use crate::bounded::text_within;

/// Nobody writes a longer one.
const LONGEST: u64 = 64 << 20;
/// Which of the groups of lanes are CPUs.
const CPUS: u32 = 0;
/// A stretch of a lane.
const COMPLETE: &str = "X";
/// What nobody knows is called.
const NOT_SEEN: &str = "not seen";

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    ph: String,
    pid: u32,
    /// What tells of a group of lanes has none.
    #[serde(default)]
    tid: u32,
    name: String,
    /// Microseconds.
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
}

/// The CPUs of a file; `None` where it cannot be read.
pub fn read_timeline(path: &Path) -> Option<Vec<CpuTimeline>> {
    let trace: Trace =
        serde_json::from_str(&text_within(foreign::open_file_nofollow(path).ok()?, LONGEST).ok()?).ok()?;
    let mut cpus: BTreeMap<u32, Vec<Occupant>> = BTreeMap::new();
    for event in trace.events.into_iter().filter(|event| event.pid == CPUS) {
        match event.ph.as_str() {
            COMPLETE => cpus.entry(event.tid).or_default().push(occupant(&event)),
            // Its name: a CPU that did nothing has a lane as well.
            _ if event.name == "thread_name" => drop(cpus.entry(event.tid).or_default()),
            _ => {}
        }
    }
    Some(cpus.into_iter().map(|(cpu, stretches)| CpuTimeline { cpu, stretches }).collect())
}

fn occupant(event: &Event) -> Occupant {
    let from = Some(MonotonicTime::from_nanos(nanos(event.ts)));
    Occupant { who: who(&event.name), ns: Span::from_nanos(nanos(event.dur).max(0).unsigned_abs()), from }
}

#[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds, far from the end of the range")]
fn nanos(micros: f64) -> i64 {
    (micros * 1e3).round() as i64
}

/// `rsync (9)` is a thread; interrupts and softirqs have no number.
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
            cpus.iter().map(|one| (one.cpu, one.stretches.len())).collect::<Vec<_>>(),
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
