//! Late time by who waited, how, on which part of the way, and for whom: the stacks of a flame graph.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, IncidentKind, Part, Segment, Span};

use super::charged::cause_of;

/// One stack: from who waited to what it waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frames {
    /// Process that waited.
    pub process: String,
    /// Its thread.
    pub thread: String,
    /// How it came to wait.
    pub kind: IncidentKind,
    /// Where on the way.
    pub part: Part,
    /// What kind of thing took the time.
    pub cause: CauseKind,
    /// The process of the cause, where it is a thread's and was still there.
    pub of: Option<String>,
    /// What the cause is called; empty where nobody knows.
    pub name: String,
}

/// All late time by stack. Its sum is that of all latencies.
pub fn folded<'a>(incidents: impl Iterator<Item = &'a Incident>) -> BTreeMap<Frames, Span> {
    let mut all: BTreeMap<Frames, Span> = BTreeMap::new();
    for incident in incidents {
        for part in &incident.parts {
            let took = all.entry(frames(incident, part)).or_default();
            *took = took.plus(part.ns);
        }
    }
    all
}

fn frames(incident: &Incident, part: &Segment) -> Frames {
    let of = cause_of(incident, part).filter(|cause| cause.kind == part.cause.kind);
    Frames {
        process: incident.thread.process.clone(),
        thread: incident.thread.name.clone(),
        kind: incident.kind,
        part: part.cause.part,
        cause: part.cause.kind,
        of: of.and_then(|cause| cause.process.clone()),
        name: part.cause.name.clone(),
    }
}
