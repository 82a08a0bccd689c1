//! The lanes of a timeline: the parts of those that waited, then what each CPU did.

use howlate_analyse::incidents::{cause_of, charged_to};
use howlate_model::{CpuTimeline, Holder, Incident, IncidentCause, Occupant, Segment};
use howlate_render::{incident_cause, part_in_words, part_of_incident, victim};

use crate::chart::Hue;

/// Lanes of those that waited then, the longest waits; lanes of CPUs.
const VICTIMS: usize = 4;
const CPUS: usize = 64;
/// Culprits with a colour of their own, beside that of the one who waited.
const CULPRITS: usize = 4;

/// A lane.
pub(super) struct TimeLane {
    pub(super) name: String,
    pub(super) stretches: Vec<Stretch>,
}

/// A stretch of a lane: nanoseconds after the wait began.
pub(super) struct Stretch {
    pub(super) from: i64,
    pub(super) ns: u64,
    pub(super) hue: Hue,
    pub(super) name: String,
}

/// The lanes around `drawn`, whose CPU comes first.
pub(super) fn lanes(drawn: &Incident, others: &[Incident], cpus: &[CpuTimeline]) -> Vec<TimeLane> {
    let began = began(drawn);
    let (first, last) = bounds(drawn, cpus);
    let is_beside =
        |one: &&Incident| *one != drawn && one.at_ns.as_nanos() > first && self::began(one) < last;
    let mut beside: Vec<&Incident> = others.iter().filter(is_beside).collect();
    beside.sort_by_key(|one| std::cmp::Reverse(one.latency));
    let victims = std::iter::once(drawn).chain(beside.into_iter().take(VICTIMS - 1));
    let victims = victims.map(|one| of_victim(drawn, one, began));
    let mut cpus: Vec<&CpuTimeline> = cpus.iter().collect();
    cpus.sort_by_key(|one| (one.cpu != drawn.cpu, one.cpu));
    victims.chain(cpus.into_iter().take(CPUS).map(|cpu| of_cpu(drawn, cpu, began))).collect()
}

/// When a wait began, on the recording's clock.
fn began(one: &Incident) -> i64 {
    one.at_ns.minus(one.latency).as_nanos()
}

/// From when until when something is known.
fn bounds(drawn: &Incident, cpus: &[CpuTimeline]) -> (i64, i64) {
    let all = || cpus.iter().flat_map(|cpu| &cpu.stretches);
    let from = all().filter_map(|one| Some(one.from?.as_nanos())).min();
    let until = all().filter_map(|one| Some(one.from?.plus(one.ns).as_nanos())).max();
    (from.unwrap_or(began(drawn)).min(began(drawn)), until.unwrap_or(0).max(drawn.at_ns.as_nanos()))
}

fn of_victim(drawn: &Incident, one: &Incident, began: i64) -> TimeLane {
    let mut from = self::began(one) - began;
    // They follow each other without a gap; of those that were joined nobody knows where each was.
    let stretch = |part: &Segment| {
        let begins = from;
        from = from.saturating_add_unsigned(part.ns.as_nanos());
        Stretch {
            from: begins,
            ns: part.ns.as_nanos(),
            hue: hue_of(drawn, one, part),
            name: named(one, part),
        }
    };
    TimeLane { name: format!("{} waits", victim(one)), stretches: one.parts.iter().map(stretch).collect() }
}

fn hue_of(drawn: &Incident, one: &Incident, part: &Segment) -> Hue {
    let cause = cause_of(one, part);
    cause.map_or(Hue::Rest, |cause| hue(drawn, &part.cause.name, part.pid, Some(charged_to(cause))))
}

/// Who it was comes first: of short stretches there is no room for more.
fn named(one: &Incident, part: &Segment) -> String {
    let joined = if part.merged { ", in several stretches" } else { "" };
    let cause = cause_of(one, part).filter(|cause| cause.kind == part.cause.kind && cause.kind.is_named());
    let words = cause
        .filter(|_| !part.cause.name.is_empty())
        .map(|cause| format!("{}: {}", incident_cause(cause), part_in_words(part.cause.part)));
    format!("{}{joined}", words.unwrap_or_else(|| part_of_incident(part)))
}

fn of_cpu(drawn: &Incident, cpu: &CpuTimeline, began: i64) -> TimeLane {
    let stretch = |one: &Occupant| {
        Some(Stretch {
            from: one.from?.as_nanos() - began,
            ns: one.ns.as_nanos(),
            hue: hue(drawn, &one.who.name, one.who.pid, None),
            name: called(one),
        })
    };
    let mut stretches: Vec<Stretch> = cpu.stretches.iter().filter_map(stretch).collect();
    stretches.sort_by_key(|one| one.from);
    TimeLane { name: format!("CPU {}", cpu.cpu), stretches }
}

fn called(one: &Occupant) -> String {
    let name = &one.who.name;
    match (one.who.holder, one.who.pid) {
        (Holder::NotSeen, _) => "not seen".to_owned(),
        (Holder::Softirq, _) => format!("softirq {name}"),
        (Holder::Interrupt, _) => format!("interrupt {name}"),
        (_, Some(pid)) => format!("{name} ({pid})"),
        _ => name.clone(),
    }
}

/// The colour of whoever has this name: the one who waits, those who held it up, all others.
fn hue(drawn: &Incident, name: &str, pid: Option<u32>, process: Option<&str>) -> Hue {
    if pid == Some(drawn.thread.tid) {
        return Hue::nth(0);
    }
    let is_it = |cause: &&IncidentCause| match (cause.pid, pid) {
        (Some(known), Some(pid)) if process.is_none() => known == pid,
        _ => process.map_or(cause.name.as_deref() == Some(name), |process| charged_to(cause) == process),
    };
    let place = culprits(drawn).position(|cause| is_it(&cause));
    place.map_or(Hue::Rest, |place| Hue::nth(place + 1))
}

/// Those with a colour of their own.
pub(super) fn culprits(drawn: &Incident) -> impl Iterator<Item = &IncidentCause> {
    drawn.causes.iter().filter(|cause| cause.kind.is_named()).take(CULPRITS)
}
