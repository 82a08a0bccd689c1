//! What every CPU did, as a file that ui.perfetto.dev and chrome://tracing open.
//!
//! Source: the Trace Event Format, complete events (`X`) and metadata (`M`); times in microseconds.

use std::fmt::Write as _;

use howlate_model::{CpuTimeline, HolderKind, MonotonicTime, Occupant, Segment};

/// Stretches of a file, which are some 2 MB. Of more, half of them are the longest, and the rest is what lies between those.
const MOST: usize = 20_000;

/// What was late meanwhile: lanes below those of the CPUs.
#[derive(Debug, Default)]
pub struct LateLanes<'a> {
    /// What they have in common.
    pub title: &'static str,
    /// Each with its name, and its parts one after the other.
    pub lanes: Vec<(String, &'a [Segment])>,
}

/// The file: a lane for each CPU, and those of what was late.
pub fn timeline_text(cpus: &[CpuTimeline], late: &LateLanes<'_>) -> String {
    let mut events: Vec<String> = Vec::new();
    for cpu in cpus {
        events.push(lane(0, cpu.cpu, &format!("CPU {}", cpu.cpu)));
    }
    for one in fitting(shown(cpus), MOST) {
        events.push(stretch((0, one.cpu), &one.name, one.from, one.ns));
    }
    events.push(process(0, "CPUs"));
    events.push(process(1, late.title));
    for (number, (name, parts)) in (0..).zip(&late.lanes) {
        events.push(lane(1, number, name));
        for part in *parts {
            let who = if part.cause.name.is_empty() { part.cause.kind.name() } else { &part.cause.name };
            events.push(stretch((1, number), who, part.from, part.ns.as_nanos()));
        }
    }
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

/// A stretch of a CPU as it is shown.
struct Shown {
    cpu: u32,
    name: String,
    from: MonotonicTime,
    ns: u64,
}

/// CPU by CPU, each in order; nobody's time is not shown.
fn shown(cpus: &[CpuTimeline]) -> Vec<Shown> {
    let of_cpu = |cpu: &CpuTimeline| {
        let number = cpu.cpu;
        let stretches = cpu.stretches.iter().filter(|one| one.who.holder != HolderKind::Idle);
        let shown = stretches.filter_map(move |one| {
            Some(Shown { cpu: number, name: name(one), from: one.from?, ns: one.ns.as_nanos() })
        });
        shown.collect::<Vec<_>>()
    };
    let mut all: Vec<Shown> = cpus.iter().flat_map(of_cpu).collect();
    all.sort_by_key(|one| (one.cpu, one.from));
    all
}

/// The longest of too many, and what lies between two of them as one: whoever holds up others is not lost among thousands of short
/// turns.
fn fitting(all: Vec<Shown>, most: usize) -> Vec<Shown> {
    if all.len() <= most {
        return all;
    }
    let mut lengths: Vec<u64> = all.iter().map(|one| one.ns).collect();
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    let least = lengths.get(most / 2).copied().unwrap_or_default();
    let mut fitting: Vec<Shown> = Vec::new();
    let mut shorter = 0_usize;
    for one in all {
        let goes_on = shorter > 0 && fitting.last().is_some_and(|last| last.cpu == one.cpu);
        match fitting.last_mut() {
            _ if one.ns > least => {
                shorter = 0;
                fitting.push(one);
            }
            Some(last) if goes_on => {
                shorter = shorter.saturating_add(1);
                last.ns = one.from.since(last.from).as_nanos().saturating_add(one.ns);
                last.name = format!("{shorter} shorter stretches");
            }
            _ => {
                shorter = 1;
                fitting.push(one);
            }
        }
    }
    fitting
}

fn name(one: &Occupant) -> String {
    match (one.who.holder, one.who.pid) {
        (HolderKind::NotSeen, _) => "not seen".to_owned(),
        (_, Some(pid)) => format!("{} ({pid})", one.who.name),
        _ => one.who.name.clone(),
    }
}

/// A thread may call itself what it likes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn stretch((pid, lane): (u32, u32), name: &str, from: MonotonicTime, ns: u64) -> String {
    let mut event = format!("{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{lane},\"name\":{}", quoted(name));
    let micros = |nanos: u64| format!("{}.{:03}", nanos / 1_000, nanos % 1_000);
    let ts = micros(from.as_nanos().max(0).unsigned_abs());
    // Writing to a string does not fail.
    let _ = write!(event, ",\"ts\":{ts},\"dur\":{}}}", micros(ns));
    event
}

fn lane(pid: u32, lane: u32, name: &str) -> String {
    let name = quoted(name);
    format!(
        "{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{lane},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}"
    )
}

fn process(pid: u32, name: &str) -> String {
    format!("{{\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}", quoted(name))
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, Span};
    use serde_json::Value;

    use super::*;

    #[test]
    fn whoever_had_the_cpu_for_long_is_not_lost_among_very_many_short_turns() {
        let one = |from: i64, ns: u64, name: &str| {
            let name = name.to_owned();
            Shown { cpu: 0, name, from: MonotonicTime::from_nanos(from), ns }
        };
        let mut all = vec![one(0, 1_000, "hog")];
        all.extend((0..99).map(|turn| one(1_000 + 10 * turn, 9, "pipe")));
        all.push(one(2_000, 500, "victim"));
        let told: Vec<(String, u64)> = fitting(all, 10).into_iter().map(|one| (one.name, one.ns)).collect();
        let expected = [("hog", 1_000), ("99 shorter stretches", 989), ("victim", 500)];
        assert_eq!(told, expected.map(|(name, ns)| (name.to_owned(), ns)));
        let few = vec![one(0, 1, "a"), one(1, 1, "b")];
        assert_eq!(fitting(few, 10).len(), 2);
    }

    #[test]
    fn each_cpu_has_a_lane_with_who_had_it() {
        let one = |holder, name: &str, pid, from: i64, ns| Occupant {
            who: CpuHolder { holder, pid, name: name.to_owned() },
            ns: Span::from_nanos(ns),
            from: Some(MonotonicTime::from_nanos(from)),
        };
        let stretches = vec![
            one(HolderKind::Thread, "say \"hi\"", Some(9), 1_500, 2_001),
            one(HolderKind::Idle, "", None, 3_501, 500),
            one(HolderKind::Softirq, "NET_RX", None, 4_001, 7),
        ];
        let text = timeline_text(&[CpuTimeline { cpu: 3, stretches }], &LateLanes::default());
        let events: Value = serde_json::from_str(&text).unwrap();
        let events = events["traceEvents"].as_array().unwrap();
        let held: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(held.len(), 2, "an idle CPU is nobody's");
        assert_eq!((&held[0]["name"], &held[0]["tid"]), (&"say \"hi\" (9)".into(), &3.into()));
        assert_eq!((held[0]["ts"].as_f64(), held[0]["dur"].as_f64()), (Some(1.5), Some(2.001)));
        assert_eq!(held[1]["name"], "NET_RX");
    }
}
