//! The causes of incidents as the causes of late wake-ups are told, so that the same advice can be given.

use std::collections::HashMap;

use howlate_model::{CauseKind, Incident, IncidentCause, LateThread, Policy, Span};

use crate::cause::WhyCause;

/// The causes of these incidents: first of threads that are ordinary, then of real-time ones, as other things help against them. Each
/// with the policy of those that waited; nothing where there were none.
pub fn causes_by_urgency(incidents: &[Incident]) -> Vec<(Policy, Vec<WhyCause>)> {
    let is_urgent = |one: &Incident| one.thread.policy.is_some_and(Policy::is_realtime);
    let of = |urgent: bool| -> Vec<&Incident> {
        incidents.iter().filter(|one| is_urgent(one) == urgent).collect()
    };
    let each = [of(false), of(true)].into_iter().filter(|some| !some.is_empty());
    each.map(|some| (some[0].thread.policy.unwrap_or(Policy::OTHER), causes(&some))).collect()
}

/// What was met in fewer incidents may never come again.
const LEAST_TIMES: usize = 3;

/// The ordinary thread that waited longest for other threads, and so may gain by a real-time priority. `None` where there is none that
/// did so several times, and that kept nobody else waiting.
pub fn thread_to_raise(incidents: &[Incident]) -> Option<&LateThread> {
    let is_ordinary = |one: &&Incident| one.thread.policy.is_none_or(|policy| !policy.is_realtime());
    let is_culprit = |tid: u32| {
        let of_others = incidents.iter().filter(|one| one.thread.tid != tid);
        of_others.flat_map(|one| &one.causes).any(|cause| cause.pid == Some(tid))
    };
    let for_threads = |one: &Incident| {
        let threads = one.causes.iter().filter(|cause| cause.kind == CauseKind::Thread);
        threads.map(|cause| cause.took).fold(Span::ZERO, Span::plus)
    };
    let mut waited: HashMap<u32, (&LateThread, Span, usize)> = HashMap::new();
    for one in incidents.iter().filter(is_ordinary) {
        let (_, total, times) = waited.entry(one.thread.tid).or_insert((&one.thread, Span::ZERO, 0));
        (*total, *times) = (total.plus(for_threads(one)), *times + 1);
    }
    let gains = waited.into_values().filter(|(thread, total, times)| {
        *times >= LEAST_TIMES && !total.is_zero() && !is_culprit(thread.tid)
    });
    gains.max_by_key(|(thread, total, _)| (*total, thread.tid)).map(|(thread, ..)| thread)
}

fn causes(incidents: &[&Incident]) -> Vec<WhyCause> {
    let whole = incidents.iter().fold(Span::ZERO, |sum, one| sum.plus(one.latency));
    let mut all: Vec<WhyCause> = Vec::new();
    for (incident, cause) in
        incidents.iter().flat_map(|one| one.causes.iter().map(move |cause| (*one, cause)))
    {
        let new = cause_of_one(incident, cause);
        let is_same = |known: &&mut WhyCause| {
            known.kind == new.kind && known.name == new.name && known.real_time == new.real_time
        };
        match all.iter_mut().find(is_same) {
            Some(known) => {
                known.pid = known.pid.filter(|pid| Some(*pid) == new.pid);
                known.late_ns += new.late_ns;
                known.wakeups += 1;
                known.max = known.max.max(new.max);
            }
            None => all.push(new),
        }
    }
    all.iter_mut()
        .for_each(|one| one.share = Span::from_nanos(one.late_ns).as_secs_f64() / whole.as_secs_f64());
    all.sort_by_key(|one| std::cmp::Reverse(one.late_ns));
    all
}

fn cause_of_one(incident: &Incident, cause: &IncidentCause) -> WhyCause {
    let name = cause.name.as_deref().unwrap_or_default();
    let is_its = |kind: CauseKind, of: &str| kind == cause.kind && of == name;
    let parts = || incident.parts.iter().filter(|part| is_its(part.cause.kind, &part.cause.name));
    WhyCause {
        kind: cause.kind,
        name: cause.name.clone(),
        part: None,
        real_time: parts().any(|part| part.cause.real_time),
        own: false,
        priority: None,
        call: String::new(),
        through: String::new(),
        pid: cause.pid,
        late_ns: cause.took.as_nanos(),
        share: 0.0,
        wakeups: 1,
        max: cause.took,
        remedy: None,
    }
}
