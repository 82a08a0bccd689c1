//! Who waited for whom.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, Span};

use super::Grouping;
use super::charged::charged_to;

/// All late waits of those that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What they are called.
    pub victim: String,
    /// How many late waits there were.
    pub incidents: u64,
    /// How long they were in all.
    pub waited: Span,
    /// The longest.
    pub longest: Span,
    /// Whom they waited for and how long, the longest first.
    pub by: Vec<(CauseKind, String, Span)>,
}

#[derive(Default)]
struct Sum {
    incidents: u64,
    waited: Span,
    longest: Span,
    by: BTreeMap<(CauseKind, String), Span>,
}

/// Who waited for whom in these incidents, those that waited longest first.
pub fn waited_for<'a>(
    incidents: impl Iterator<Item = &'a Incident>,
    by: Grouping,
    users: &BTreeMap<u32, String>,
) -> Vec<Held> {
    let mut all: BTreeMap<String, Sum> = BTreeMap::new();
    for one in incidents {
        let thread = &one.thread;
        let name = by.of(&thread.process, thread.group.as_deref(), thread.uid, users);
        all.entry(name).or_default().add(one);
    }
    let mut held: Vec<Held> = all.into_iter().map(|(victim, sum)| sum.held(victim)).collect();
    held.sort_by_key(|one| std::cmp::Reverse(one.waited));
    held
}

impl Sum {
    fn add(&mut self, one: &Incident) {
        self.incidents += 1;
        self.waited = self.waited.plus(one.latency);
        self.longest = self.longest.max(one.latency);
        for cause in &one.causes {
            let took = self.by.entry((cause.kind, charged_to(cause).to_owned())).or_default();
            *took = took.plus(cause.took);
        }
    }

    fn held(self, victim: String) -> Held {
        let Self { incidents, waited, longest, by } = self;
        let mut by: Vec<_> = by.into_iter().map(|((kind, name), took)| (kind, name, took)).collect();
        by.sort_by_key(|(.., took)| std::cmp::Reverse(*took));
        Held { victim, incidents, waited, longest, by }
    }
}
