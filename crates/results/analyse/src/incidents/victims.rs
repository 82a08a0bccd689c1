//! Which victims waited for which culprits.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, IncidentKind, Span};

use super::Grouping;
use super::culprit_of_cause::culprit_name;

/// All late waits of one group of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VictimWaits {
    /// Name of the group.
    pub victim: String,
    /// Number of late waits.
    pub incidents: u64,
    /// Their sum.
    pub waited: Span,
    /// The longest.
    pub longest: Span,
    /// The culprits and how long the threads waited for each, the longest first.
    pub by: Vec<(CauseKind, String, Span)>,
}

#[derive(Default)]
struct VictimSum {
    incidents: u64,
    waited: Span,
    longest: Span,
    by: BTreeMap<(CauseKind, String), Span>,
}

/// The late waits of each group of threads, the longest sum first; requests are none.
pub fn waits_by_victim<'a>(
    incidents: impl Iterator<Item = &'a Incident>,
    by: Grouping,
    users: &BTreeMap<u32, String>,
) -> Vec<VictimWaits> {
    let mut all: BTreeMap<String, VictimSum> = BTreeMap::new();
    for incident in incidents.filter(|incident| incident.kind != IncidentKind::Request) {
        let thread = &incident.thread;
        let name = by.group_of(&thread.process, thread.group.as_deref(), thread.uid, users);
        all.entry(name).or_default().add(incident);
    }
    let mut victims: Vec<VictimWaits> = all.into_iter().map(|(victim, sum)| sum.into_waits(victim)).collect();
    victims.sort_by_key(|victim| std::cmp::Reverse(victim.waited));
    victims
}

impl VictimSum {
    fn add(&mut self, incident: &Incident) {
        self.incidents += 1;
        self.waited = self.waited.plus(incident.latency);
        self.longest = self.longest.max(incident.latency);
        for cause in &incident.causes {
            let took = self.by.entry((cause.kind, culprit_name(cause).to_owned())).or_default();
            *took = took.plus(cause.took);
        }
    }

    fn into_waits(self, victim: String) -> VictimWaits {
        let Self { incidents, waited, longest, by } = self;
        let mut by: Vec<_> = by.into_iter().map(|((kind, name), took)| (kind, name, took)).collect();
        by.sort_by_key(|(.., took)| std::cmp::Reverse(*took));
        VictimWaits { victim, incidents, waited, longest, by }
    }
}
