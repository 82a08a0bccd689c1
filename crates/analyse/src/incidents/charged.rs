//! Whom a cause is charged to, and which parts are its.

use howlate_model::{CauseKind, Incident, IncidentCause, Segment};

/// What a cause is called where threads count for their process; empty where nobody knows.
pub fn charged_to(cause: &IncidentCause) -> &str {
    cause.process.as_deref().or(cause.name.as_deref()).unwrap_or_default()
}

/// The cause of a part; small ones may be among the others.
pub fn cause_of<'a>(incident: &'a Incident, part: &Segment) -> Option<&'a IncidentCause> {
    let is_its = |cause: &&IncidentCause| {
        cause.kind == part.cause.kind
            && cause.name.as_deref().unwrap_or_default() == part.cause.name
            && (cause.pid.is_none() || cause.pid == part.pid)
    };
    let is_rest = |cause: &&IncidentCause| cause.kind == CauseKind::Others;
    let all = || incident.causes.iter();
    all().find(is_its).or_else(|| all().find(is_rest))
}
