//! Lanes of a timeline: the waits of late threads by part, then what each CPU ran.

use howlate_analyse::incidents::{cause_of, culprit_name};
use howlate_model::{CpuTimeline, HolderKind, Incident, IncidentCause, Occupant, Segment};
use howlate_render::{incident_cause, part_in_words, part_of_incident, victim};

use crate::chart::Hue;

/// Maximum lanes of late threads, the longest waits first; maximum lanes of CPUs.
const VICTIMS: usize = 4;
const CPUS: usize = 64;
/// Causes with a colour of their own, in addition to the late thread's.
const CULPRITS: usize = 4;

pub(super) struct TimeLane {
    pub(super) name: String,
    pub(super) stretches: Vec<Stretch>,
}

/// `from` is in nanoseconds after the wait began.
pub(super) struct Stretch {
    pub(super) from: i64,
    pub(super) ns: u64,
    pub(super) hue: Hue,
    pub(super) name: String,
}

/// The lanes around `incident`; its CPU comes first.
pub(super) fn lanes(incident: &Incident, all: &[Incident], cpus: &[CpuTimeline]) -> Vec<TimeLane> {
    let start = start(incident);
    let (first, last) = bounds(incident, cpus);
    let is_simultaneous =
        |other: &&Incident| *other != incident && other.at_ns.as_nanos() > first && self::start(other) < last;
    let mut simultaneous: Vec<&Incident> = all.iter().filter(is_simultaneous).collect();
    simultaneous.sort_by_key(|other| std::cmp::Reverse(other.latency));
    let late_threads = std::iter::once(incident).chain(simultaneous.into_iter().take(VICTIMS - 1));
    let late_threads = late_threads.map(|other| waiting_lane(incident, other, start));
    let mut cpus: Vec<&CpuTimeline> = cpus.iter().collect();
    cpus.sort_by_key(|cpu| (cpu.cpu != incident.cpu, cpu.cpu));
    late_threads.chain(cpus.into_iter().take(CPUS).map(|cpu| cpu_lane(incident, cpu, start))).collect()
}

/// Start of the wait in nanoseconds, on the recording's clock.
fn start(incident: &Incident) -> i64 {
    incident.at_ns.minus(incident.latency).as_nanos()
}

/// Start and end of the time of which the CPUs' timelines or the incident are known.
fn bounds(incident: &Incident, cpus: &[CpuTimeline]) -> (i64, i64) {
    let all = || cpus.iter().flat_map(|cpu| &cpu.stretches);
    let from = all().filter_map(|stretch| Some(stretch.from?.as_nanos())).min();
    let until = all().filter_map(|stretch| Some(stretch.from?.plus(stretch.ns).as_nanos())).max();
    (from.unwrap_or(start(incident)).min(start(incident)), until.unwrap_or(0).max(incident.at_ns.as_nanos()))
}

fn waiting_lane(incident: &Incident, other: &Incident, start: i64) -> TimeLane {
    let mut from = self::start(other) - start;
    // Parts follow each other without a gap; of merged parts the single positions are unknown.
    let stretch = |part: &Segment| {
        let begins = from;
        from = from.saturating_add_unsigned(part.ns.as_nanos());
        Stretch {
            from: begins,
            ns: part.ns.as_nanos(),
            hue: part_hue(incident, other, part),
            name: part_name(other, part),
        }
    };
    TimeLane {
        name: format!("{} waits", victim(other)),
        stretches: other.parts.iter().map(stretch).collect(),
    }
}

fn part_hue(incident: &Incident, other: &Incident, part: &Segment) -> Hue {
    let cause = cause_of(other, part);
    cause.map_or(Hue::Rest, |cause| hue(incident, &part.cause.name, part.pid, Some(culprit_name(cause))))
}

/// The culprit comes first: short stretches have no room for more.
fn part_name(incident: &Incident, part: &Segment) -> String {
    let merged = if part.merged { ", in several stretches" } else { "" };
    let cause =
        cause_of(incident, part).filter(|cause| cause.kind == part.cause.kind && cause.kind.is_named());
    let cause_and_part = cause
        .filter(|_| !part.cause.name.is_empty())
        .map(|cause| format!("{}: {}", incident_cause(cause), part_in_words(part.cause.part)));
    format!("{}{merged}", cause_and_part.unwrap_or_else(|| part_of_incident(part)))
}

fn cpu_lane(incident: &Incident, cpu: &CpuTimeline, start: i64) -> TimeLane {
    let stretch = |occupant: &Occupant| {
        Some(Stretch {
            from: occupant.from?.as_nanos() - start,
            ns: occupant.ns.as_nanos(),
            hue: hue(incident, &occupant.who.name, occupant.who.pid, None),
            name: occupant_name(occupant),
        })
    };
    let mut stretches: Vec<Stretch> = cpu.stretches.iter().filter_map(stretch).collect();
    stretches.sort_by_key(|stretch| stretch.from);
    TimeLane { name: format!("CPU {}", cpu.cpu), stretches }
}

fn occupant_name(occupant: &Occupant) -> String {
    let name = &occupant.who.name;
    match (occupant.who.holder, occupant.who.pid) {
        (HolderKind::NotSeen, _) => "not seen".to_owned(),
        (HolderKind::Softirq, _) => format!("softirq {name}"),
        (HolderKind::Interrupt, _) => format!("interrupt {name}"),
        (_, Some(pid)) => format!("{name} ({pid})"),
        _ => name.clone(),
    }
}

/// Colour of a thread: the late one, a cause, or any other.
fn hue(incident: &Incident, name: &str, pid: Option<u32>, process: Option<&str>) -> Hue {
    if pid == Some(incident.thread.tid) {
        return Hue::nth(0);
    }
    let matches = |cause: &&IncidentCause| match (cause.pid, pid) {
        (Some(culprit_pid), Some(pid)) if process.is_none() => culprit_pid == pid,
        _ => process.map_or(cause.name.as_deref() == Some(name), |process| culprit_name(cause) == process),
    };
    let place = culprits(incident).position(|cause| matches(&cause));
    place.map_or(Hue::Rest, |place| Hue::nth(place + 1))
}

/// Causes with a colour of their own.
pub(super) fn culprits(incident: &Incident) -> impl Iterator<Item = &IncidentCause> {
    incident.causes.iter().filter(|cause| cause.kind.is_named()).take(CULPRITS)
}
