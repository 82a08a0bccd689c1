//! What delayed threads, all incidents together.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, IncidentCause, IncidentKind, Policy, Span};

use super::culprit_of_cause::{cause_of, culprit_name};
use super::own_time::OwnTime;

/// A program, handler or other cause that delayed threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    pub kind: CauseKind,
    /// Its process, or its own name; empty if unknown.
    pub name: String,
    /// The script that it runs, if it is an interpreter.
    pub command: Option<String>,
    /// Whether it is the recorder itself.
    pub is_recorder: bool,
    /// Policy of the thread that took most of one incident, if known.
    pub policy: Option<Policy>,
    /// Number of incidents that it took a part of.
    pub incidents: u64,
    /// Its time in them, in all: if several threads waited at once, the time of each counts.
    pub took: Span,
    /// How long it had what they waited for: counted once, however many waited.
    pub own: Span,
    /// Its longest time in one incident.
    pub longest: Span,
    /// The process that it delayed longest, and for how long in all.
    pub victim: (String, Span),
}

/// A culprit while its incidents are added up.
struct CulpritSum {
    culprit: Culprit,
    own: OwnTime,
    victims: BTreeMap<String, Span>,
}

/// What counts as one culprit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CulpritKey {
    kind: CauseKind,
    name: String,
    command: Option<String>,
    is_recorder: bool,
    /// Kept apart, as the remedies differ from those against normal threads of the same program.
    is_realtime: bool,
}

/// The culprits, the longest time first. Threads are grouped by process, with the real-time ones of a program kept apart from its
/// others. Not of requests: what their threads waited for is an incident of its own.
pub fn culprits<'a>(incidents: impl Iterator<Item = &'a Incident>) -> Vec<Culprit> {
    let mut all: BTreeMap<CulpritKey, CulpritSum> = BTreeMap::new();
    for incident in incidents.filter(|incident| incident.kind != IncidentKind::Request) {
        let mut here: BTreeMap<CulpritKey, (Span, Option<Policy>)> = BTreeMap::new();
        for cause in &incident.causes {
            let (took, policy) = here.entry(key_of(cause)).or_default();
            *took = took.plus(cause.took);
            *policy = policy.or(cause.policy);
        }
        for (key, (took, policy)) in here {
            all.entry(key).or_insert_with_key(CulpritSum::new).add(incident, took, policy);
        }
        for part in &incident.parts {
            let sum = cause_of(incident, part).and_then(|cause| all.get_mut(&key_of(cause)));
            sum.into_iter().for_each(|sum| sum.own.add(incident, part));
        }
    }
    let mut culprits: Vec<Culprit> = all.into_values().map(CulpritSum::total).collect();
    culprits.sort_by_key(|culprit| std::cmp::Reverse(culprit.took));
    culprits
}

fn key_of(cause: &IncidentCause) -> CulpritKey {
    CulpritKey {
        kind: cause.kind,
        name: culprit_name(cause).to_owned(),
        command: cause.command.clone(),
        is_recorder: cause.is_recorder,
        is_realtime: cause.policy.is_some_and(Policy::is_realtime),
    }
}

impl CulpritSum {
    fn new(key: &CulpritKey) -> Self {
        let CulpritKey { kind, name, command, is_recorder, .. } = key.clone();
        let (took, own, longest) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let (policy, incidents, victim) = (None, 0, Default::default());
        Self {
            culprit: Culprit {
                kind,
                name,
                command,
                is_recorder,
                policy,
                incidents,
                took,
                own,
                longest,
                victim,
            },
            own: OwnTime::default(),
            victims: BTreeMap::new(),
        }
    }

    fn add(&mut self, incident: &Incident, took: Span, policy: Option<Policy>) {
        let culprit = &mut self.culprit;
        if took > culprit.longest {
            (culprit.longest, culprit.policy) = (took, policy);
        }
        culprit.incidents += 1;
        culprit.took = culprit.took.plus(took);
        let victim = self.victims.entry(incident.thread.process.clone()).or_default();
        *victim = victim.plus(took);
    }

    fn total(self) -> Culprit {
        let Self { mut culprit, own, victims } = self;
        culprit.victim = victims.into_iter().max_by_key(|(_, took)| *took).unwrap_or_default();
        // Joined parts of several threads of one name count for one of them.
        culprit.own = own.sum().min(culprit.took);
        culprit
    }
}

#[cfg(test)]
pub(super) mod tests {
    use howlate_model::{Cause, IncidentKind, LateThread, MonotonicTime, Part, Priority, Segment};

    use super::*;

    pub(in crate::incidents) fn incident(victim: &str, causes: &[(&str, Option<&str>, u64)]) -> Incident {
        let cause = |(name, process, ms): &(&str, Option<&str>, u64)| IncidentCause {
            process_id: None,
            command: None,
            is_recorder: false,
            kind: CauseKind::Thread,
            name: Some((*name).to_owned()),
            pid: None,
            process: process.map(str::to_owned),
            policy: None,
            group: None,
            took: Span::from_millis(*ms),
            share: 0.5,
        };
        let thread = LateThread {
            command: None,
            name: victim.to_owned(),
            process: victim.to_owned(),
            pid: 7,
            tid: 7,
            uid: 0,
            group: None,
            policy: None,
        };
        Incident {
            at: String::new(),
            at_ns: MonotonicTime::default(),
            latency: Span::from_millis(1),
            thread,
            kind: IncidentKind::Woken,
            cpu: 0,
            parts: vec![],
            causes: causes.iter().map(cause).collect(),
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: None,
            server: None,
        }
    }

    fn part(pid: u32, from: i64, ns: u64) -> Segment {
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
        Segment::new(cause, Some(pid), MonotonicTime::from_nanos(from), Span::from_nanos(ns))
    }

    #[test]
    fn whom_several_waited_for_has_its_own_time_once() {
        let wait_of = |victim: &str, from: i64, ms: u64| {
            let victim_incident = incident(victim, &[("hog", None, ms)]);
            Incident { parts: vec![part(9, from * 1_000_000, ms * 1_000_000)], ..victim_incident }
        };
        let found = culprits([wait_of("web", 0, 10), wait_of("db", 5, 5)].iter());
        assert_eq!((found[0].took, found[0].own), (Span::from_millis(15), Span::from_millis(10)));
        let urgent = Policy::Fifo { priority: Priority::USUAL };
        let mut all = [wait_of("web", 0, 10), wait_of("db", 20, 5)];
        all[0].causes[0].policy = Some(urgent);
        assert_eq!(culprits(all.iter())[0].policy, Some(urgent), "that of the longest");
    }

    #[test]
    fn a_real_time_thread_is_not_added_to_ordinary_ones_of_its_name() {
        let mut all = [incident("web", &[("python3", None, 30)]), incident("web", &[("python3", None, 20)])];
        let urgent = Policy::Fifo { priority: Priority::USUAL };
        all[0].causes[0].policy = Some(urgent);
        all[1].causes[0].policy = Some(Policy::OTHER);
        let found = culprits(all.iter());
        let rows: Vec<_> = found.iter().map(|culprit| (culprit.policy, culprit.took)).collect();
        assert_eq!(
            rows,
            [(Some(urgent), Span::from_millis(30)), (Some(Policy::OTHER), Span::from_millis(20))]
        );
    }

    #[test]
    fn programs_of_one_interpreter_are_several() {
        let mut all = [
            incident("web", &[("python3", Some("python3"), 30)]),
            incident("web", &[("python3", Some("python3"), 20)]),
        ];
        all[0].causes[0].command = Some("svc.py".to_owned());
        let found = culprits(all.iter());
        let rows: Vec<_> = found.iter().map(|culprit| culprit.command.as_deref()).collect();
        assert_eq!(rows, [Some("svc.py"), None]);
    }

    #[test]
    fn threads_of_one_process_are_one_culprit() {
        let all = [
            incident("web", &[("GC 1", Some("java"), 10), ("GC 2", Some("java"), 5), ("cc1", None, 1)]),
            incident("db", &[("GC 1", Some("java"), 4)]),
        ];
        let found = culprits(all.iter());
        let rows: Vec<_> =
            found.iter().map(|culprit| (culprit.name.as_str(), culprit.incidents, culprit.took)).collect();
        assert_eq!(rows, [("java", 2, Span::from_millis(19)), ("cc1", 1, Span::from_millis(1))]);
        assert_eq!(found[0].longest, Span::from_millis(15));
        assert_eq!(found[0].victim, ("web".to_owned(), Span::from_millis(15)));
    }
}
