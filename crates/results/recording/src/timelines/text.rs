//! Writing of timeline files for ui.perfetto.dev and chrome://tracing.
//!
//! Source: the Trace Event Format, complete events (`X`), flows (`s`, `f`) and metadata (`M`); times in microseconds.

use std::collections::BTreeMap;

use howlate_model::{CpuTimeline, HolderKind, MonotonicTime, Occupant, Segment, path_steps, waited_threads};

/// Maximum bars of a file, which are about 2 MB. Of more, half are the longest, and the rest are
/// sums of those in between.
const MOST: usize = 20_000;
/// Process id of the lanes below those of the CPUs.
const LATE: u32 = 1;

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
    events.push(process(LATE, late.title));
    let mut picture = DrawnLanes::default();
    for (name, parts) in &late.lanes {
        picture.add(name, parts);
    }
    events.append(&mut picture.events);
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

/// Lanes of late threads, each with those of the threads that it waited for below it.
#[derive(Debug, Default)]
struct DrawnLanes {
    events: Vec<String>,
    lanes: u32,
    arrows: u32,
}

impl DrawnLanes {
    fn add(&mut self, name: &str, parts: &[Segment]) {
        let own = self.lane(name);
        for part in parts {
            self.part(own, part);
        }
        let waited = waited_threads(parts);
        let mut lanes: BTreeMap<&str, u32> = BTreeMap::new();
        for stretch in &waited {
            let number = *lanes
                .entry(stretch.thread)
                .or_insert_with(|| self.lane(&format!("{}, waited for by {name}", stretch.thread)));
            let parts = parts.get(stretch.parts.clone()).unwrap_or_default();
            match stretch.waits_for {
                Some(next) => self.waits(number, next, parts),
                None => parts.iter().for_each(|part| self.part(number, part)),
            }
        }
        for step in path_steps(parts, &waited) {
            let lane_of = |stretch: usize| waited.get(stretch).and_then(|stretch| lanes.get(stretch.thread));
            let to = step.to.map_or(Some(&own), lane_of);
            let end = waited.get(step.from).map_or(0, |stretch| stretch.parts.end);
            let (last, next) = (parts.get(end.saturating_sub(1)), parts.get(end));
            if let (Some(from), Some(&to), Some(last), Some(next)) = (lane_of(step.from), to, last, next) {
                self.arrow((*from, last.from), (to, next.from));
            }
        }
    }

    fn lane(&mut self, name: &str) -> u32 {
        let number = self.lanes;
        self.lanes = self.lanes.saturating_add(1);
        self.events.push(lane(LATE, number, name));
        number
    }

    fn part(&mut self, lane: u32, part: &Segment) {
        let who = if part.cause.name.is_empty() { part.cause.kind.name() } else { &part.cause.name };
        self.events.push(stretch((LATE, lane), who, part.from, part.ns.as_nanos()));
    }

    fn waits(&mut self, lane: u32, waits_for: &str, parts: &[Segment]) {
        let Some(first) = parts.first() else { return };
        let ns = parts.iter().map(|part| part.ns.as_nanos()).fold(0_u64, u64::saturating_add);
        self.events.push(stretch((LATE, lane), &format!("waits for {waits_for}"), first.from, ns));
    }

    /// From the bar that begins at one moment in a lane to the one that begins at another in another.
    fn arrow(&mut self, from: (u32, MonotonicTime), to: (u32, MonotonicTime)) {
        self.arrows = self.arrows.saturating_add(1);
        for (phase, (lane, at)) in [("\"s\"", from), ("\"f\",\"bp\":\"e\"", to)] {
            let (id, ts) = (self.arrows, micros(nanos(at)));
            self.events.push(format!(
                "{{\"ph\":{phase},\"id\":{id},\"cat\":\"wait\",\"name\":\"goes on\",\"pid\":{LATE},\"tid\":{lane},\"ts\":{ts}}}"
            ));
        }
    }
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
    let (name, ts, dur) = (json_string(name), micros(nanos(from)), micros(ns));
    format!("{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{lane},\"name\":{name},\"ts\":{ts},\"dur\":{dur}}}")
}

fn nanos(at: MonotonicTime) -> u64 {
    at.as_nanos().max(0).unsigned_abs()
}

/// To the nanosecond.
fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000, nanos % 1_000)
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
    use howlate_model::{Cause, CauseKind, CpuHolder, Part, Span};
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
    fn a_thread_that_was_waited_for_has_a_lane_and_an_arrow_to_who_goes_on() {
        let part = |cause: Cause, from: i64, ns| {
            Segment::new(cause, None, MonotonicTime::from_nanos(from), Span::from_nanos(ns))
        };
        let blocked = |name: &str| Cause::new(Part::Blocked, CauseKind::Thread, name.to_owned());
        let parts = [
            part(Cause { through: "keeper".to_owned(), ..blocked("hog") }, 1_000, 500),
            part(Cause { kind: CauseKind::Lock, ..blocked("keeper") }, 1_500, 250),
            part(Cause::new(Part::WakeUp, CauseKind::Kernel, String::new()), 1_750, 5),
        ];
        let late = LateLanes { title: "late", lanes: vec![("worker (7)".to_owned(), &parts[..])] };
        let events: Value = serde_json::from_str(&timeline_text(&[], &late)).unwrap();
        let events = events["traceEvents"].as_array().unwrap();
        let of = |lane: u32| {
            let bars = events.iter().filter(move |event| event["ph"] == "X" && event["tid"] == lane);
            bars.map(|bar| (bar["name"].as_str().unwrap(), bar["ts"].as_f64().unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [("hog", 1.0), ("keeper", 1.5), ("kernel", 1.75)]);
        assert_eq!(of(1), [("hog", 1.0), ("keeper", 1.5)]);
        let name = |event: &Value| event["args"]["name"] == "keeper, waited for by worker (7)";
        assert!(events.iter().any(name), "{events:?}");
        let arrows = events.iter().filter(|event| event["cat"] == "wait");
        let ends: Vec<_> = arrows.map(|end| (&end["ph"], &end["tid"], end["ts"].as_f64().unwrap())).collect();
        assert_eq!(ends, [(&"s".into(), &1.into(), 1.5), (&"f".into(), &0.into(), 1.75)]);
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
