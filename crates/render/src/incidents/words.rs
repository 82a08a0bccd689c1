//! Who waited and what held it up, in words.

use howlate_analyse::incidents::{Culprit, RecurringCulprit};
use howlate_model::{
    CauseKind, Incident, IncidentCause, IncidentKind, LateAbove, LateTurn, Latency, Part, Policy, Span,
};

use crate::cause_words::{part_in_words, percent, who};
use crate::numbers::{count, length};
use crate::recurrence::{precise, probability};
use crate::untrusted_text::legible;

/// Causes of one incident that are named, those with at least this share.
const CAUSES: usize = 3;
const WORTH: f64 = 0.02;

/// How the times of culprits are added up.
pub const HOW_CULPRITS_ARE_ADDED: &str = "Own time: how long it had what others waited for, counted once. Others' waits: added up over all who waited.";

/// `nginx worker (4711)`; of a turn, `robot (4711), loop control`.
pub fn victim(one: &Incident) -> String {
    let thread = &one.thread;
    let (process, name) = (legible(&thread.process), legible(&thread.name));
    let name = if name == process { String::new() } else { format!(" {name}") };
    let turn = one.turn.as_ref().map_or_else(String::new, |turn| format!(", loop {}", legible(&turn.name)));
    format!("{process}{name} ({}){turn}", thread.tid)
}

/// What stands before the length of an incident.
pub const fn was_late(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Woken | IncidentKind::Preempted => "waited",
        IncidentKind::Timer => "was late by",
        IncidentKind::EventLoop => "was away from its events for",
        IncidentKind::Loop => "missed its deadline by",
    }
}

/// `waited 12.0 ms for CPU 3, after it was woken`; `missed its deadline by 2 ms: its turns are due every 1 ms`.
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
fn spans(turn: &LateTurn) -> String {
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

/// `rustc, pid 812, fifo:50, of cargo`.
pub fn incident_cause(cause: &IncidentCause) -> String {
    let name = cause.name.as_deref().unwrap_or_default();
    let of = cause.process.as_deref().filter(|process| *process != name);
    let of = of.map_or_else(String::new, |process| format!(" of {}", legible(process)));
    let policy = unusual(cause.policy).map_or_else(String::new, |policy| format!(", {policy}"));
    format!("{}{of}{policy}", who(cause.kind, name, cause.pid))
}

/// What it is called: a process, an interrupt, a quota.
pub fn culprit_name(one: &Culprit) -> String {
    let policy = unusual(one.policy).map_or_else(String::new, |policy| format!(", {policy}"));
    match one.kind {
        CauseKind::Others => "others".to_owned(),
        kind => format!("{}{policy}", who(kind, &one.name, None)),
    }
}

/// Above what waits are late: `5 ms`, or `p99.9 of the last hour, at least 1 ms`.
pub fn late_above(above: LateAbove) -> String {
    let least = length(above.least());
    above
        .percent()
        .map_or_else(|| least.clone(), |percent| format!("p{percent} of the last hour, at least {least}"))
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
