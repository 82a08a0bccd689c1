//! Who waited and what held it up, in words.

use howlate_analyse::incidents::{Culprit, RecurringCulprit, container, pod};
use howlate_model::{
    CauseKind, Incident, IncidentCause, IncidentKind, LateIteration, LateThreshold, Latency, Part, Policy,
    Segment, Span,
};

use crate::cause_words::{part_in_words, percent, segment_in_words, who};
use crate::numbers::{count, length};
use crate::recurrence::{precise, probability};
use crate::untrusted_text::legible;

/// Causes of one incident that are named, those with at least this share.
const CAUSES: usize = 3;
const WORTH: f64 = 0.02;

/// The recorder, where it had the CPU itself.
const THIS_RECORDER: &str = "this recorder";

/// How the times of culprits are added up.
pub const HOW_CULPRITS_ARE_ADDED: &str = "Own time: how long it had what others waited for, counted once. Others' waits: added up over all who waited.";

/// `nginx worker (4711)`; of an interpreter, `python3 svc.py (4711)`; of a turn, `robot (4711), loop control`.
pub fn victim(one: &Incident) -> String {
    let thread = &one.thread;
    let (process, name) = (legible(&thread.process), legible(&thread.name));
    let name = if name == process { String::new() } else { format!(" {name}") };
    let command =
        thread.command.as_ref().map_or_else(String::new, |command| format!(" {}", legible(command)));
    let turn = one.turn.as_ref().map_or_else(String::new, |turn| format!(", loop {}", legible(&turn.name)));
    format!("{process}{command}{name} ({}){turn}", thread.tid)
}

/// What stands before the length of an incident.
pub const fn was_late(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Woken | IncidentKind::Preempted => "waited",
        IncidentKind::Timer => "was late by",
        IncidentKind::EventLoop => "was away from its events for",
        IncidentKind::Loop => "says it missed its deadline by",
    }
}

/// `waited 12.0 ms for CPU 3, after it was woken`; `says it missed its deadline by 2 ms: its turns are due every 1 ms`.
pub fn how_late(one: &Incident) -> String {
    let (verb, late, cpu) = (was_late(one.kind), span(one.latency), one.cpu);
    let how = match (one.kind, &one.turn) {
        (IncidentKind::Woken, _) => format!(" for CPU {cpu}, after it was woken"),
        (IncidentKind::Preempted, _) => format!(" for CPU {cpu}, after it lost its CPU"),
        (IncidentKind::Timer, _) => format!(" by its timer, when it ran on CPU {cpu}"),
        (IncidentKind::Loop, Some(turn)) => {
            format!(": its turns are due every {}{}", length(turn.period), spans(turn))
        }
        (IncidentKind::Loop | IncidentKind::EventLoop, _) => String::new(),
    };
    format!("{verb} {late}{how}")
}

/// `; 12 ms of this one were plan, 3 ms act`.
fn spans(turn: &LateIteration) -> String {
    let named = turn.spans.iter().map(|one| format!("{} in {}", span(one.spent), legible(&one.name)));
    let named = named.collect::<Vec<_>>().join(", ");
    if named.is_empty() { named } else { format!("; this one spent {named}") }
}

/// How a thread is scheduled, where that says more than usual: `fifo:50`.
pub(super) fn unusual(policy: Option<Policy>) -> Option<String> {
    policy.map(|policy| policy.to_string()).filter(|text| *text != Policy::OTHER.to_string())
}

/// On which part of the way. A loop that is away, or takes too long, does not ask to be woken: that part is its work.
pub(super) const fn way(kind: IncidentKind, part: Part) -> &'static str {
    match (kind, part) {
        (IncidentKind::EventLoop | IncidentKind::Loop, Part::Arming) => "at work",
        (IncidentKind::EventLoop, Part::Blocked) => "blocked in another call, or by a page fault",
        _ => part_in_words(part),
    }
}

/// `rsync, pid 9 98 %, softirq NET_RX 2 %`
pub fn held_up_by(one: &Incident) -> String {
    let worth: Vec<&IncidentCause> = one.causes.iter().filter(|cause| cause.share >= WORTH).collect();
    let named =
        worth.iter().take(CAUSES).map(|cause| format!("{} {}", incident_cause(cause), percent(cause.share)));
    let more = worth.len().saturating_sub(CAUSES);
    let more = (more > 0).then(|| format!("{more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// `python3 svc.py, pid 812, fifo:50`; of a thread that is not the main one, `GC 1 of java app.jar, thread 815 of 812`.
pub fn incident_cause(cause: &IncidentCause) -> String {
    let policy = unusual(cause.policy).map_or_else(String::new, |policy| format!(", {policy}"));
    let name = cause.name.as_deref().unwrap_or_default();
    let of = cause.process.as_deref().filter(|process| *process != name);
    let of = of.map_or_else(String::new, |process| format!(" of {process}"));
    let command = cause.command.as_ref().map_or_else(String::new, |command| format!(" {command}"));
    let name = if cause.is_recorder { THIS_RECORDER.to_owned() } else { format!("{name}{of}{command}") };
    format!("{}{policy}", named(cause.kind, &format!("{name}{}", id(cause.pid, cause.process_id))))
}

/// `, pid 812` of a main thread; `, thread 815 of 812` of another one, `, thread 815` where its process is not known; `, threads of 812`.
fn id(thread: Option<u32>, process: Option<u32>) -> String {
    match (thread, process) {
        (None, None) => String::new(),
        (None, Some(process)) => format!(", threads of {process}"),
        (Some(thread), Some(process)) if thread == process => format!(", pid {process}"),
        (Some(thread), Some(process)) => format!(", thread {thread} of {process}"),
        (Some(thread), None) => format!(", thread {thread}"),
    }
}

/// Who it was, where a control group is called by its container or pod.
pub(super) fn named(kind: CauseKind, name: &str) -> String {
    match (kind, container_or_pod(name)) {
        (CauseKind::Throttled, Some(group)) => format!("quota of {group}"),
        _ => who(kind, name, None),
    }
}

/// A control group, for people: the path of a container or pod is too long to be read.
pub(super) fn group_name(path: &str) -> String {
    container_or_pod(path).unwrap_or_else(|| legible(path).into_owned())
}

/// `container 1f2e3d4c5b6a`, with what is below it; `pod 0b1c2d3e-4f50-…`.
fn container_or_pod(path: &str) -> Option<String> {
    let below = |is_it: &dyn Fn(&str) -> bool| {
        let parts: Vec<&str> = path.split('/').collect();
        let place = parts.iter().rposition(|part| is_it(part))?;
        Some(parts.iter().skip(place + 1).map(|part| format!("/{}", legible(part))).collect::<String>())
    };
    let inside = |id: String| Some(format!("container {id}{}", below(&|part| container(part).is_some())?));
    let within = |uid: String| Some(format!("pod {uid}{}", below(&|part| pod(part).is_some())?));
    container(path).and_then(inside).or_else(|| pod(path).and_then(within))
}

/// A part, and who it was: threads by their thread ids.
pub fn part_of_incident(part: &Segment) -> String {
    let words = part_in_words(part.cause.part);
    let among = if part.merged { "among them " } else { "" };
    match part.cause.kind {
        CauseKind::Thread | CauseKind::Stopped | CauseKind::Undetermined | CauseKind::Throttled => {
            let name = &part.cause.name;
            let id = if name.is_empty() { String::new() } else { id(part.pid, None) };
            format!("{words} ({among}{})", named(part.cause.kind, &format!("{name}{id}")))
        }
        _ => segment_in_words(part),
    }
}

/// What it is called: a process, an interrupt, a quota.
pub fn culprit_name(one: &Culprit) -> String {
    let policy = unusual(one.policy).map_or_else(String::new, |policy| format!(", {policy}"));
    let command = one.command.as_ref().map_or_else(String::new, |command| format!(" {command}"));
    match one.kind {
        CauseKind::Others => "others".to_owned(),
        _ if one.is_recorder => format!("{THIS_RECORDER}{policy}"),
        kind => format!("{}{policy}", named(kind, &format!("{}{command}", one.name))),
    }
}

/// Above what waits are late: `5 ms`, or `p99.9 of the last hour, at least 1 ms`.
pub fn late_above(above: LateThreshold) -> String {
    let least = length(above.least());
    above
        .percent()
        .map_or_else(|| least.clone(), |percent| format!("p{percent} of the last hour, at least {least}"))
}

/// A percentile of waits that were counted in buckets of a fifth: two digits are all that is known of it.
pub fn bucketed(at: Latency) -> String {
    let nanos = at.as_nanos() as f64;
    let (unit, one) = match nanos {
        much if much >= 1e9 => ("s", 1e9),
        some if some >= 1e6 => ("ms", 1e6),
        some if some >= 1e3 => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    match nanos / one {
        few if few < 9.95 => format!("{few:.1} {unit}"),
        some if some < 99.5 => format!("{some:.0} {unit}"),
        many => format!("{:.0} {unit}", (many / 10.0).round() * 10.0),
    }
}

/// A length of time with three digits.
pub(super) fn span(span: Span) -> String {
    Latency::from_span(span).to_string()
}

/// `backup comes back every 47.03 s: 13 of 13 times (p = 2·10⁻⁵).`
pub(super) fn comes_back(one: &RecurringCulprit) -> String {
    let name = who(one.kind, &one.name, None);
    let (times, of) = (count(one.rhythm.members as u64), count(one.rhythm.of as u64));
    format!(
        "{name} comes back every {}: {times} of {of} times ({}).",
        precise(one.rhythm.period),
        probability(one.rhythm.p)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_to_a_fifth_has_two_digits() {
        for (nanos, expected) in [
            (512, "510 ns"),
            (1_152, "1.2 µs"),
            (46_400_000, "46 ms"),
            (11_600_000, "12 ms"),
            (9_500_000, "9.5 ms"),
            (464_000_000, "460 ms"),
            (2_160_000_000, "2.2 s"),
        ] {
            assert_eq!(bucketed(Latency::from_nanos(nanos)), expected);
        }
    }

    #[test]
    fn threads_are_not_called_processes_and_programs_are_told_apart() {
        let one = IncidentCause {
            kind: CauseKind::Thread,
            name: Some("GC 1".to_owned()),
            pid: Some(815),
            process_id: Some(812),
            process: Some("java".to_owned()),
            command: Some("app.jar\u{1b}".to_owned()),
            is_recorder: false,
            policy: None,
            group: None,
            took: Span::ZERO,
            share: 1.0,
        };
        assert_eq!(incident_cause(&one), "GC 1 of java app.jar\\u{1b}, thread 815 of 812");
        let main =
            IncidentCause { name: Some("java".to_owned()), pid: Some(812), command: None, ..one.clone() };
        assert_eq!(incident_cause(&main), "java, pid 812");
        assert_eq!(incident_cause(&IncidentCause { process_id: None, ..main.clone() }), "java, thread 812");
        assert_eq!(incident_cause(&IncidentCause { pid: None, ..main.clone() }), "java, threads of 812");
        assert_eq!(incident_cause(&IncidentCause { is_recorder: true, ..main }), "this recorder, pid 812");
    }

    #[test]
    fn a_group_is_called_by_its_container_or_pod() {
        let id = "1f2e3d4c5b6a79880f1e2d3c4b5a69781f2e3d4c5b6a79880f1e2d3c4b5a6978";
        let pod = "/kubepods.slice/kubepods-pod0b1c2d3e_4f50_6172_8394_a5b6c7d8e9f0.slice";
        for (path, expected) in [
            (format!("{pod}/cri-containerd-{id}.scope"), "quota of container 1f2e3d4c5b6a"),
            (format!("/machine.slice/libpod-{id}.scope/init"), "quota of container 1f2e3d4c5b6a/init"),
            (pod.to_owned(), "quota of pod 0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"),
            ("/system.slice/a.service".to_owned(), "quota of the control group /system.slice/a.service"),
        ] {
            assert_eq!(named(CauseKind::Throttled, &path), expected);
        }
    }
}
