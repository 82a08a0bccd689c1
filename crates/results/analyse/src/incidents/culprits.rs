//! Who held up others, all incidents together.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, IncidentCause, Policy, Span};

use super::charged::{cause_of, charged_to};
use super::own_time::OwnTime;

/// One who did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// What kind of thing.
    pub kind: CauseKind,
    /// Its process, or what it is called itself; empty where nobody knows.
    pub name: String,
    /// What that runs, where it is an interpreter.
    pub command: Option<String>,
    /// Whether it is the recorder itself.
    pub is_recorder: bool,
    /// How its thread was scheduled that took most of one incident, where that is known.
    pub policy: Option<Policy>,
    /// Of how many incidents it took a part.
    pub incidents: u64,
    /// How much of them, in all: where several waited at once, the time of each counts.
    pub took: Span,
    /// How long it had what they waited for: counted once, however many waited.
    pub own: Span,
    /// The most of one.
    pub longest: Span,
    /// Whom it held up longest, and for how long in all.
    pub victim: (String, Span),
}

#[derive(Default)]
struct Sum {
    policy: Option<Policy>,
    incidents: u64,
    took: Span,
    own: OwnTime,
    longest: Span,
    victims: BTreeMap<String, Span>,
}

/// What is one culprit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    kind: CauseKind,
    name: String,
    command: Option<String>,
    is_recorder: bool,
    /// Against that, other things help than against the same program without.
    is_realtime: bool,
}

/// The culprits, whoever took most first. Threads are told apart by their process, and the real-time ones
/// of a program from its others.
pub fn culprits<'a>(incidents: impl Iterator<Item = &'a Incident>) -> Vec<Culprit> {
    let mut all: BTreeMap<Named, Sum> = BTreeMap::new();
    for incident in incidents {
        let mut here: BTreeMap<Named, (Span, Option<Policy>)> = BTreeMap::new();
        for cause in &incident.causes {
            let (took, policy) = here.entry(named(cause)).or_default();
            *took = took.plus(cause.took);
            *policy = policy.or(cause.policy);
        }
        for (who, (took, policy)) in here {
            all.entry(who).or_default().add(incident, took, policy);
        }
        for part in &incident.parts {
            let sum = cause_of(incident, part).and_then(|cause| all.get_mut(&named(cause)));
            sum.into_iter().for_each(|sum| sum.own.add(incident, part));
        }
    }
    let mut culprits: Vec<Culprit> = all.into_iter().map(|(who, sum)| sum.culprit(who)).collect();
    culprits.sort_by_key(|one| std::cmp::Reverse(one.took));
    culprits
}

fn named(cause: &IncidentCause) -> Named {
    Named {
        kind: cause.kind,
        name: charged_to(cause).to_owned(),
        command: cause.command.clone(),
        is_recorder: cause.is_recorder,
        is_realtime: cause.policy.is_some_and(Policy::is_realtime),
    }
}

impl Sum {
    fn add(&mut self, incident: &Incident, took: Span, policy: Option<Policy>) {
        if took > self.longest {
            (self.longest, self.policy) = (took, policy);
        }
        self.incidents += 1;
        self.took = self.took.plus(took);
        let victim = self.victims.entry(incident.thread.process.clone()).or_default();
        *victim = victim.plus(took);
    }

    fn culprit(self, Named { kind, name, command, is_recorder, .. }: Named) -> Culprit {
        let Self { policy, incidents, took, own, longest, victims } = self;
        let victim = victims.into_iter().max_by_key(|(_, took)| *took).unwrap_or_default();
        // Parts of several threads of one name may be joined under one of them.
        let own = own.sum().min(took);
        Culprit { kind, name, command, is_recorder, policy, incidents, took, own, longest, victim }
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
            late_above: None,
            timeline: None,
            turn: None,
        }
    }

    fn part(pid: u32, from: i64, ns: u64) -> Segment {
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
        Segment::new(cause, Some(pid), MonotonicTime::from_nanos(from), Span::from_nanos(ns))
    }

    #[test]
    fn whom_several_waited_for_has_its_own_time_once() {
        let waited = |victim: &str, from: i64, ms: u64| {
            let one = incident(victim, &[("hog", None, ms)]);
            Incident { parts: vec![part(9, from * 1_000_000, ms * 1_000_000)], ..one }
        };
        let found = culprits([waited("web", 0, 10), waited("db", 5, 5)].iter());
        assert_eq!((found[0].took, found[0].own), (Span::from_millis(15), Span::from_millis(10)));
        let urgent = Policy::Fifo { priority: Priority::USUAL };
        let mut all = [waited("web", 0, 10), waited("db", 20, 5)];
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
        let told: Vec<_> = found.iter().map(|one| (one.policy, one.took)).collect();
        assert_eq!(
            told,
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
        let told: Vec<_> = found.iter().map(|one| one.command.as_deref()).collect();
        assert_eq!(told, [Some("svc.py"), None]);
    }

    #[test]
    fn threads_of_one_process_are_one_culprit() {
        let all = [
            incident("web", &[("GC 1", Some("java"), 10), ("GC 2", Some("java"), 5), ("cc1", None, 1)]),
            incident("db", &[("GC 1", Some("java"), 4)]),
        ];
        let found = culprits(all.iter());
        let told: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.incidents, one.took)).collect();
        assert_eq!(told, [("java", 2, Span::from_millis(19)), ("cc1", 1, Span::from_millis(1))]);
        assert_eq!(found[0].longest, Span::from_millis(15));
        assert_eq!(found[0].victim, ("web".to_owned(), Span::from_millis(15)));
    }
}
