//! Late time by waiting thread, kind, part and cause: the stacks of a flame graph.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, IncidentKind, Part, Segment, Span};

use super::culprit_of_cause::cause_of;

/// One stack: from the waiting thread to what it waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frames {
    /// Process that waited.
    pub process: String,
    /// Its thread.
    pub thread: String,
    /// How it came to wait.
    pub kind: IncidentKind,
    /// Where on the path.
    pub part: Part,
    /// Kind of the cause.
    pub cause: CauseKind,
    /// The process of the cause, if it is a thread's and was still there.
    pub of: Option<String>,
    /// Name of the cause; empty if unknown.
    pub name: String,
}

/// All late time by stack; its sum is that of all latencies.
pub fn late_time_by_stack<'a>(incidents: impl Iterator<Item = &'a Incident>) -> BTreeMap<Frames, Span> {
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
    let culprit = cause_of(incident, part).filter(|cause| cause.kind == part.cause.kind);
    Frames {
        process: incident.thread.process.clone(),
        thread: incident.thread.name.clone(),
        kind: incident.kind,
        part: part.cause.part,
        cause: part.cause.kind,
        of: culprit.and_then(|cause| cause.process.clone()),
        name: part.cause.name.clone(),
    }
}
