//! Who held up others, all incidents together.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, Span};

/// One who did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// What kind of thing.
    pub kind: CauseKind,
    /// Its process, or what it is called itself; empty where nobody knows.
    pub name: String,
    /// Of how many incidents it took a part.
    pub incidents: u64,
    /// How much of them, in all.
    pub took: Span,
    /// The most of one.
    pub longest: Span,
    /// Whom it held up longest, and for how long in all.
    pub victim: (String, Span),
}

#[derive(Default)]
struct Sum {
    incidents: u64,
    took: Span,
    longest: Span,
    victims: BTreeMap<String, Span>,
}

/// The culprits, whoever took most first. Threads are told apart by their process.
pub fn culprits<'a>(incidents: impl Iterator<Item = &'a Incident>) -> Vec<Culprit> {
    let mut all: BTreeMap<(CauseKind, String), Sum> = BTreeMap::new();
    for incident in incidents {
        let mut here: BTreeMap<(CauseKind, String), Span> = BTreeMap::new();
        for cause in &incident.causes {
            let name = cause.process.as_ref().or(cause.name.as_ref()).cloned().unwrap_or_default();
            let took = here.entry((cause.kind, name)).or_default();
            *took = took.plus(cause.took);
        }
        for (who, took) in here {
            let sum = all.entry(who).or_default();
            sum.incidents += 1;
            sum.took = sum.took.plus(took);
            sum.longest = sum.longest.max(took);
            let victim = sum.victims.entry(incident.thread.process.clone()).or_default();
            *victim = victim.plus(took);
        }
    }
    let culprit = |((kind, name), sum): ((CauseKind, String), Sum)| {
        let victim = sum.victims.into_iter().max_by_key(|(_, took)| *took).unwrap_or_default();
        Culprit { kind, name, incidents: sum.incidents, took: sum.took, longest: sum.longest, victim }
    };
    let mut culprits: Vec<Culprit> = all.into_iter().map(culprit).collect();
    culprits.sort_by_key(|one| std::cmp::Reverse(one.took));
    culprits
}

#[cfg(test)]
mod tests {
    use howlate_model::{IncidentCause, IncidentKind, LateThread, MonotonicTime};

    use super::*;

    fn incident(victim: &str, causes: &[(&str, Option<&str>, u64)]) -> Incident {
        let cause = |(name, process, ms): &(&str, Option<&str>, u64)| IncidentCause {
            kind: CauseKind::Thread,
            name: Some((*name).to_owned()),
            pid: None,
            process: process.map(str::to_owned),
            group: None,
            took: Span::from_millis(*ms),
            share: 0.5,
        };
        let thread = LateThread {
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
            timeline: None,
        }
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
