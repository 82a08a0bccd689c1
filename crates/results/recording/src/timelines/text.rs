//! Writing of timeline files for ui.perfetto.dev and chrome://tracing.
//!
//! Source: the Trace Event Format, complete events (`X`) and metadata (`M`); times in microseconds.

use std::fmt::Write as _;

use howlate_model::{CpuTimeline, HolderKind, MonotonicTime, Occupant, Segment};

/// Maximum bars of a file, which are about 2 MB. Of more, half are the longest, and the rest are
/// sums of those in between.
const MOST: usize = 20_000;

/// Lanes of late threads below those of the CPUs.
#[derive(Debug, Default)]
pub struct LateLanes<'a> {
    /// Name of the group.
    pub title: &'static str,
    pub lanes: Vec<(String, &'a [Segment])>,
}

/// Text of a timeline file.
pub fn timeline_text(cpus: &[CpuTimeline], late: &LateLanes<'_>) -> String {
    let mut events: Vec<String> = Vec::new();
    for cpu in cpus {
        events.push(lane(0, cpu.cpu, &format!("CPU {}", cpu.cpu)));
    }
    for bar in fitting(cpu_bars(cpus), MOST) {
        events.push(stretch((0, bar.cpu), &bar.name, bar.from, bar.ns));
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

/// A bar in a CPU's lane.
struct CpuStretch {
    cpu: u32,
    name: String,
    from: MonotonicTime,
    ns: u64,
}

/// Bars of all CPUs in order, without idle time.
fn cpu_bars(cpus: &[CpuTimeline]) -> Vec<CpuStretch> {
    let of_cpu = |cpu: &CpuTimeline| {
        let number = cpu.cpu;
        let stretches = cpu.stretches.iter().filter(|occupant| occupant.who.holder != HolderKind::Idle);
        let cpu_bars = stretches.filter_map(move |occupant| {
            Some(CpuStretch {
                cpu: number,
                name: name(occupant),
                from: occupant.from?,
                ns: occupant.ns.as_nanos(),
            })
        });
        cpu_bars.collect::<Vec<_>>()
    };
    let mut all: Vec<CpuStretch> = cpus.iter().flat_map(of_cpu).collect();
    all.sort_by_key(|occupant| (occupant.cpu, occupant.from));
    all
}

/// At most `most` bars: the longest, and the sum of the shorter ones between them, so that a long occupation remains
/// visible among thousands of short ones.
fn fitting(all: Vec<CpuStretch>, most: usize) -> Vec<CpuStretch> {
    if all.len() <= most {
        return all;
    }
    let mut lengths: Vec<u64> = all.iter().map(|bar| bar.ns).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let least = lengths.get(most / 2).copied().unwrap_or_default();
    let mut fitting: Vec<CpuStretch> = Vec::new();
    let mut shorter = 0_usize;
    for bar in all {
        let continues = shorter > 0 && fitting.last().is_some_and(|last| last.cpu == bar.cpu);
        match fitting.last_mut() {
            _ if bar.ns > least => {
                shorter = 0;
                fitting.push(bar);
            }
            Some(last) if continues => {
                shorter = shorter.saturating_add(1);
                last.ns = bar.from.since(last.from).as_nanos().saturating_add(bar.ns);
                last.name = format!("{shorter} shorter stretches");
            }
            _ => {
                shorter = 1;
                fitting.push(bar);
            }
        }
    }
    fitting
}

fn name(occupant: &Occupant) -> String {
    match (occupant.who.holder, occupant.who.pid) {
        (HolderKind::NotSeen, _) => "not seen".to_owned(),
        (_, Some(pid)) => format!("{} ({pid})", occupant.who.name),
        _ => occupant.who.name.clone(),
    }
}

/// JSON string; names of threads may contain anything.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn stretch((pid, lane): (u32, u32), name: &str, from: MonotonicTime, ns: u64) -> String {
    let mut event = format!("{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{lane},\"name\":{}", json_string(name));
    let micros = |nanos: u64| format!("{}.{:03}", nanos / 1_000, nanos % 1_000);
    let ts = micros(from.as_nanos().max(0).unsigned_abs());
    // Writing to a string does not fail.
    let _ = write!(event, ",\"ts\":{ts},\"dur\":{}}}", micros(ns));
    event
}

fn lane(pid: u32, lane: u32, name: &str) -> String {
    let name = json_string(name);
    format!(
        "{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{lane},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}}}"
    )
}

fn process(pid: u32, name: &str) -> String {
    format!(
        "{{\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
        json_string(name)
    )
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, Span};
    use serde_json::Value;

    use super::*;

    #[test]
    fn whoever_had_the_cpu_for_long_is_not_lost_among_very_many_short_turns() {
        let bar = |from: i64, ns: u64, name: &str| {
            let name = name.to_owned();
            CpuStretch { cpu: 0, name, from: MonotonicTime::from_nanos(from), ns }
        };
        let mut all = vec![bar(0, 1_000, "hog")];
        all.extend((0..99).map(|turn| bar(1_000 + 10 * turn, 9, "pipe")));
        all.push(bar(2_000, 500, "victim"));
        let names_and_lengths: Vec<(String, u64)> =
            fitting(all, 10).into_iter().map(|bar| (bar.name, bar.ns)).collect();
        let expected = [("hog", 1_000), ("99 shorter stretches", 989), ("victim", 500)];
        assert_eq!(names_and_lengths, expected.map(|(name, ns)| (name.to_owned(), ns)));
        let few = vec![bar(0, 1, "a"), bar(1, 1, "b")];
        assert_eq!(fitting(few, 10).len(), 2);
    }

    #[test]
    fn each_cpu_has_a_lane_with_who_had_it() {
        let occupant = |holder, name: &str, pid, from: i64, ns| Occupant {
            who: CpuHolder { holder, pid, name: name.to_owned() },
            ns: Span::from_nanos(ns),
            from: Some(MonotonicTime::from_nanos(from)),
        };
        let stretches = vec![
            occupant(HolderKind::Thread, "say \"hi\"", Some(9), 1_500, 2_001),
            occupant(HolderKind::Idle, "", None, 3_501, 500),
            occupant(HolderKind::Softirq, "NET_RX", None, 4_001, 7),
        ];
        let text = timeline_text(&[CpuTimeline { cpu: 3, stretches }], &LateLanes::default());
        let events: Value = serde_json::from_str(&text).unwrap();
        let events = events["traceEvents"].as_array().unwrap();
        let bars: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(bars.len(), 2, "an idle CPU is nobody's");
        assert_eq!((&bars[0]["name"], &bars[0]["tid"]), (&"say \"hi\" (9)".into(), &3.into()));
        assert_eq!((bars[0]["ts"].as_f64(), bars[0]["dur"].as_f64()), (Some(1.5), Some(2.001)));
        assert_eq!(bars[1]["name"], "NET_RX");
    }
}
