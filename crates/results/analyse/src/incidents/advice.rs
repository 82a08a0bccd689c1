//! Causes of incidents in the form of causes of late wake-ups, so that they get the same advice.

use std::collections::HashMap;

use howlate_model::{CauseKind, Incident, IncidentCause, IncidentKind, LateThread, Policy, Span};

use crate::cause::WhyCause;

/// The causes of these incidents, with the policy of the threads that waited: first those of normal threads, then those of real-time
/// threads, as their remedies differ. Not of requests, whose threads wait for much else. Empty without incidents.
pub fn causes_by_urgency(incidents: &[Incident]) -> Vec<(Policy, Vec<WhyCause>)> {
    let is_urgent = |incident: &Incident| incident.thread.policy.is_some_and(Policy::is_realtime);
    let by_urgency = |urgent: bool| -> Vec<&Incident> {
        let is_request = |incident: &Incident| incident.kind == IncidentKind::Request;
        incidents.iter().filter(|incident| is_urgent(incident) == urgent && !is_request(incident)).collect()
    };
    let groups = [by_urgency(false), by_urgency(true)].into_iter().filter(|group| !group.is_empty());
    groups.map(|group| (group[0].thread.policy.unwrap_or(Policy::OTHER), causes(&group))).collect()
}

/// A cause met in fewer incidents may never come again.
const LEAST_TIMES: usize = 3;

/// The normal thread that waited longest for other threads, and so may gain from a real-time priority. `None` if none of them waited
/// several times without delaying other threads.
pub fn thread_to_raise(incidents: &[Incident]) -> Option<&LateThread> {
    let is_ordinary =
        |incident: &&Incident| incident.thread.policy.is_none_or(|policy| !policy.is_realtime());
    let is_request = |incident: &&Incident| incident.kind == IncidentKind::Request;
    let is_culprit = |tid: u32| {
        let other_incidents = incidents.iter().filter(|incident| incident.thread.tid != tid);
        other_incidents.flat_map(|incident| &incident.causes).any(|cause| cause.pid == Some(tid))
    };
    let time_for_threads = |incident: &Incident| {
        let threads = incident.causes.iter().filter(|cause| cause.kind == CauseKind::Thread);
        threads.map(|cause| cause.took).fold(Span::ZERO, Span::plus)
    };
    let mut waited: HashMap<u32, (&LateThread, Span, usize)> = HashMap::new();
    for incident in incidents.iter().filter(|incident| is_ordinary(incident) && !is_request(incident)) {
        let (_, total, times) =
            waited.entry(incident.thread.tid).or_insert((&incident.thread, Span::ZERO, 0));
        (*total, *times) = (total.plus(time_for_threads(incident)), *times + 1);
    }
    let gains = waited.into_values().filter(|(thread, total, times)| {
        *times >= LEAST_TIMES && !total.is_zero() && !is_culprit(thread.tid)
    });
    gains.max_by_key(|(thread, total, _)| (*total, thread.tid)).map(|(thread, ..)| thread)
}

fn causes(incidents: &[&Incident]) -> Vec<WhyCause> {
    let whole = incidents.iter().fold(Span::ZERO, |sum, incident| sum.plus(incident.latency));
    let mut all: Vec<WhyCause> = Vec::new();
    for (incident, cause) in
        incidents.iter().flat_map(|incident| incident.causes.iter().map(move |cause| (*incident, cause)))
    {
        let new = why_cause(incident, cause);
        let is_same = |sum: &&mut WhyCause| {
            sum.kind == new.kind && sum.name == new.name && sum.real_time == new.real_time
        };
        match all.iter_mut().find(is_same) {
            Some(sum) => {
                sum.pid = sum.pid.filter(|pid| Some(*pid) == new.pid);
                sum.late_ns += new.late_ns;
                sum.wakeups += 1;
                sum.max = sum.max.max(new.max);
            }
            None => all.push(new),
        }
    }
    all.iter_mut()
        .for_each(|cause| cause.share = Span::from_nanos(cause.late_ns).as_secs_f64() / whole.as_secs_f64());
    all.sort_by_key(|cause| std::cmp::Reverse(cause.late_ns));
    all
}

fn why_cause(incident: &Incident, cause: &IncidentCause) -> WhyCause {
    let name = cause.name.as_deref().unwrap_or_default();
    let is_of_cause = |kind: CauseKind, part_name: &str| kind == cause.kind && part_name == name;
    let parts = || incident.parts.iter().filter(|part| is_of_cause(part.cause.kind, &part.cause.name));
    WhyCause {
        kind: cause.kind,
        name: cause.name.clone(),
        part: None,
        real_time: parts().any(|part| part.cause.real_time),
        own: false,
        priority: None,
        call: String::new(),
        through: String::new(),
        via: Vec::new(),
        pid: cause.pid,
        late_ns: cause.took.as_nanos(),
        share: 0.0,
        wakeups: 1,
        max: cause.took,
        remedy: None,
    }
}
