//! Names of victims and culprits, and sentences on incidents.

use howlate_analyse::incidents::{Culprit, RecurringCulprit, container, pod};
use howlate_model::{
    CauseKind, IdleCpu, Incident, IncidentCause, IncidentKind, LateIteration, LateThreshold, Latency, Part,
    Policy, Segment, Span,
};

use crate::cause_words::{part_in_words, percent, segment_in_words, who};
use crate::numbers::{count, length, rough, span_per_span};
use crate::recurrence::{period_in_words, probability};
use crate::untrusted_text::legible;

/// Most causes of one incident that are named, and their minimum share.
const CAUSES: usize = 3;
const WORTH: f64 = 0.02;

/// Name of the recorder where it is a culprit.
const THIS_RECORDER: &str = "this recorder";

/// Explains the columns of culprits.
pub const HOW_CULPRITS_ARE_ADDED: &str = "Own time: how long it had what others waited for, counted once. Others' waits: the sum over all waiters.";

/// `nginx worker (4711)`; for an interpreter, `python3 svc.py (4711)`; for a marked loop, `robot (4711), loop control`; for a request,
/// `nginx (4711), port 80`.
pub fn victim(incident: &Incident) -> String {
    let thread = &incident.thread;
    let (process, name) = (legible(&thread.process), legible(&thread.name));
    let name = if name == process { String::new() } else { format!(" {name}") };
    let command =
        thread.command.as_ref().map_or_else(String::new, |command| format!(" {}", legible(command)));
    let turn =
        incident.turn.as_ref().map_or_else(String::new, |turn| format!(", loop {}", legible(&turn.name)));
    let server = incident.server.map_or_else(String::new, |server| format!(", {server}"));
    format!("{process}{command}{name} ({}){turn}{server}", thread.tid)
}

/// The verb before the length of an incident.
pub const fn was_late(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Woken | IncidentKind::Preempted => "waited",
        IncidentKind::Timer => "was late by",
        IncidentKind::EventLoop => "was away from its events for",
        IncidentKind::Loop => "says it missed its deadline by",
        IncidentKind::Request => "answered a request after",
    }
}

/// `waited 12.0 ms for CPU 3, after it was woken`; `says it missed its deadline by 2 ms: its period is 1 ms`.
pub fn how_late(incident: &Incident) -> String {
    let (verb, late, cpu) = (was_late(incident.kind), span(incident.latency), incident.cpu);
    let for_cpu = if was_moved(incident) { "until it ran on" } else { "for" };
    let how = match (incident.kind, &incident.turn) {
        (IncidentKind::Woken, _) => format!(" {for_cpu} CPU {cpu}, after it was woken"),
        (IncidentKind::Preempted, _) => format!(" {for_cpu} CPU {cpu}, after it lost its CPU"),
        (IncidentKind::Timer, _) => format!(" by its timer, when it ran on CPU {cpu}"),
        (IncidentKind::Loop, Some(turn)) => {
            format!(": its period is {}{}", length(turn.period), spans(turn))
        }
        (IncidentKind::Loop | IncidentKind::EventLoop | IncidentKind::Request, _) => String::new(),
    };
    format!("{verb} {late}{how}")
}

/// `; 12 ms of this one were plan, 3 ms act`.
fn spans(turn: &LateIteration) -> String {
    let spans = turn.spans.iter().map(|part| format!("{} in {}", span(part.spent), legible(&part.name)));
    let spans = spans.collect::<Vec<_>>().join(", ");
    if spans.is_empty() { spans } else { format!("; this one spent {spans}") }
}

/// `CPU 0, on which it may run, was idle for 9.8 ms of that.`
pub fn idle_meanwhile(incident: &Incident) -> Option<String> {
    let IdleCpu { cpu, idle } = incident.idle_cpu?;
    let which = if was_moved(incident) { "to which it was moved" } else { "on which it may run" };
    Some(format!("CPU {cpu}, {which}, was idle for {} of that.", span(idle)))
}

/// Whether the CPU on which it ran at last was idle while it waited for another one.
fn was_moved(incident: &Incident) -> bool {
    incident.idle_cpu.is_some_and(|idle| idle.cpu == incident.cpu)
}

/// The scheduling policy, unless it is the default: `fifo:50`.
pub(super) fn unusual(policy: Option<Policy>) -> Option<String> {
    policy.map(|policy| policy.to_string()).filter(|text| *text != Policy::OTHER.to_string())
}

/// Name of a part of the wait. For loops, the part before arming is their own work.
pub(super) const fn way(kind: IncidentKind, part: Part) -> &'static str {
    match (kind, part) {
        (IncidentKind::EventLoop | IncidentKind::Loop, Part::Arming) => "at work",
        (IncidentKind::EventLoop, Part::Blocked) => "blocked in another call, or by a page fault",
        _ => part_in_words(part),
    }
}

/// `held up by rsync, pid 9 98 %`; of a request, `of that, at work 60 %`.
pub fn held_up(incident: &Incident) -> String {
    let begin = if incident.kind == IncidentKind::Request { "of that," } else { "held up by" };
    format!("{begin} {}", held_up_by(incident))
}

/// `rsync, pid 9 98 %, softirq NET_RX 2 %`; of a request, `at work 60 %, waiting for the CPU (thread hog (9)) 40 %`.
pub fn held_up_by(incident: &Incident) -> String {
    let causes = match incident.kind {
        IncidentKind::Request => parts_in_words(incident),
        _ => incident.causes.iter().map(|cause| (incident_cause(cause), cause.share)).collect(),
    };
    let worth: Vec<_> = causes.iter().filter(|(_, share)| *share >= WORTH).collect();
    let causes = worth.iter().take(CAUSES).map(|(cause, share)| format!("{cause} {}", percent(*share)));
    let more = worth.len().saturating_sub(CAUSES);
    let more = (more > 0).then(|| format!("{more} more"));
    causes.chain(more).collect::<Vec<_>>().join(", ")
}

/// The parts of an incident and their shares, those of one text together, the longest first.
fn parts_in_words(incident: &Incident) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for part in &incident.parts {
        let (text, share) = (segment_in_words(part), span_per_span(part.ns, incident.latency));
        match sums.iter_mut().find(|(other, _)| *other == text) {
            Some((_, sum)) => *sum += share,
            None => sums.push((text, share)),
        }
    }
    sums.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    sums
}

/// `python3 svc.py, pid 812, fifo:50`; of a thread that is not the main one, `GC 1 of java app.jar, thread 815 of 812`.
pub fn incident_cause(cause: &IncidentCause) -> String {
    let policy = unusual(cause.policy).map_or_else(String::new, |policy| format!(", {policy}"));
    let name = cause.name.as_deref().unwrap_or_default();
    let of_process = cause.process.as_deref().filter(|process| *process != name);
    let of_process = of_process.map_or_else(String::new, |process| format!(" of {process}"));
    let command = cause.command.as_ref().map_or_else(String::new, |command| format!(" {command}"));
    let name =
        if cause.is_recorder { THIS_RECORDER.to_owned() } else { format!("{name}{of_process}{command}") };
    format!("{}{policy}", culprit_text(cause.kind, &format!("{name}{}", id(cause.pid, cause.process_id))))
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

/// Name of a culprit; control groups by their container or pod.
pub(super) fn culprit_text(kind: CauseKind, name: &str) -> String {
    match (kind, container_or_pod(name)) {
        (CauseKind::Throttled, Some(group)) => format!("quota of {group}"),
        _ => who(kind, name, None),
    }
}

/// Name of a control group: the path of a container or pod would be too long.
pub(super) fn group_name(path: &str) -> String {
    container_or_pod(path).unwrap_or_else(|| legible(path).into_owned())
}

/// `container 1f2e3d4c5b6a`, with what is below it; `pod 0b1c2d3e-4f50-…`.
fn container_or_pod(path: &str) -> Option<String> {
    let path_below = |matches: &dyn Fn(&str) -> bool| {
        let parts: Vec<&str> = path.split('/').collect();
        let place = parts.iter().rposition(|part| matches(part))?;
        Some(parts.iter().skip(place + 1).map(|part| format!("/{}", legible(part))).collect::<String>())
    };
    let inside =
        |id: String| Some(format!("container {id}{}", path_below(&|part| container(part).is_some())?));
    let within = |uid: String| Some(format!("pod {uid}{}", path_below(&|part| pod(part).is_some())?));
    container(path).and_then(inside).or_else(|| pod(path).and_then(within))
}

/// Description of a part with its culprit; threads have thread ids.
pub fn part_of_incident(part: &Segment) -> String {
    let text = part_in_words(part.cause.part);
    let among = if part.merged { "among them " } else { "" };
    match part.cause.kind {
        CauseKind::Thread | CauseKind::Stopped | CauseKind::Undetermined | CauseKind::Throttled => {
            let name = &part.cause.name;
            let id = if name.is_empty() { String::new() } else { id(part.pid, None) };
            format!("{text} ({among}{})", culprit_text(part.cause.kind, &format!("{name}{id}")))
        }
        _ => segment_in_words(part),
    }
}

/// Name of a culprit: process, interrupt or quota.
pub fn culprit_name(culprit: &Culprit) -> String {
    let policy = unusual(culprit.policy).map_or_else(String::new, |policy| format!(", {policy}"));
    let command = culprit.command.as_ref().map_or_else(String::new, |command| format!(" {command}"));
    match culprit.kind {
        CauseKind::Others => "others".to_owned(),
        _ if culprit.is_recorder => format!("{THIS_RECORDER}{policy}"),
        kind => format!("{}{policy}", culprit_text(kind, &format!("{}{command}", culprit.name))),
    }
}

/// The limit above which waits are late: `5 ms`, or `p99.9 of the last hour, at least 1 ms`.
pub fn late_above(above: LateThreshold) -> String {
    let least = length(above.least());
    above
        .percent()
        .map_or_else(|| least.clone(), |percent| format!("p{percent} of the last hour, at least {least}"))
}

/// A percentile of waits. Buckets are a fifth wide, so only two digits are significant.
pub fn bucketed(at: Latency) -> String {
    let nanos = at.as_nanos() as f64;
    let (unit, divisor) = match nanos {
        much if much >= 1e9 => ("s", 1e9),
        some if some >= 1e6 => ("ms", 1e6),
        some if some >= 1e3 => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    match nanos / divisor {
        few if few < 9.95 => format!("{few:.1} {unit}"),
        some if some < 99.5 => format!("{some:.0} {unit}"),
        many => format!("{:.0} {unit}", (many / 10.0).round() * 10.0),
    }
}

/// A duration with three digits.
pub(super) fn span(span: Span) -> String {
    Latency::from_span(span).to_string()
}

/// `backup comes back every 47.03 s: 13 of 13 times (p = 2·10⁻⁵).`
pub(super) fn comes_back(culprit: &RecurringCulprit) -> String {
    let name = who(culprit.kind, &culprit.name, None);
    let (times, all) = (count(culprit.rhythm.members as u64), count(culprit.rhythm.of as u64));
    let within =
        culprit.within.map_or_else(String::new, |within| format!(" in the {} with most", rough(within)));
    format!(
        "{name} comes back every {}: {times} of {all} times{within} ({}).",
        period_in_words(&culprit.rhythm),
        probability(culprit.rhythm.p)
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
        let cause = IncidentCause {
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
        assert_eq!(incident_cause(&cause), "GC 1 of java app.jar\\u{1b}, thread 815 of 812");
        let main =
            IncidentCause { name: Some("java".to_owned()), pid: Some(812), command: None, ..cause.clone() };
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
            assert_eq!(culprit_text(CauseKind::Throttled, &path), expected);
        }
    }
}
