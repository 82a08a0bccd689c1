//! The causes of incidents as the causes of late wake-ups are told, so that the same advice can be given.

use howlate_model::{CauseKind, Incident, IncidentCause, Policy, Span};

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
        pid: cause.pid,
        late_ns: cause.took.as_nanos(),
        share: 0.0,
        wakeups: 1,
        max: cause.took,
        remedy: None,
    }
}
