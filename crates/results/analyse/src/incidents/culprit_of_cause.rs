//! The culprit of a cause, and the cause of a part.

use howlate_model::{CauseKind, Incident, IncidentCause, Segment};

/// The name of a cause's culprit, where threads count for their process; empty if unknown.
pub fn culprit_name(cause: &IncidentCause) -> &str {
    cause.process.as_deref().or(cause.name.as_deref()).unwrap_or_default()
}

/// The cause of a part; small ones may be among the others. Joined parts of several threads of one name do not say which thread each
/// was: they count for the first of them.
pub fn cause_of<'a>(incident: &'a Incident, part: &Segment) -> Option<&'a IncidentCause> {
    let is_of_part = |cause: &&IncidentCause| {
        cause.kind == part.cause.kind
            && cause.name.as_deref().unwrap_or_default() == part.cause.name
            && (cause.pid.is_none() || part.pid.is_none() || cause.pid == part.pid)
    };
    let is_rest = |cause: &&IncidentCause| cause.kind == CauseKind::Others;
    let all = || incident.causes.iter();
    all().find(is_of_part).or_else(|| all().find(is_rest))
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, MonotonicTime, Part, Span};

    use super::*;
    use crate::incidents::culprits::{culprits, tests::incident};

    #[test]
    fn joined_parts_of_named_threads_are_not_the_others() {
        let mut victim = incident("web", &[("hog", Some("batch"), 20), ("", None, 1)]);
        (victim.causes[0].pid, victim.causes[1].kind) = (Some(9), CauseKind::Others);
        let part = |name: &str, ms| {
            let cause = Cause::new(Part::Waiting, CauseKind::Thread, name.to_owned());
            Segment {
                merged: true,
                ..Segment::new(cause, None, MonotonicTime::default(), Span::from_millis(ms))
            }
        };
        victim.parts = vec![part("hog", 20), part("short", 1)];
        let found = culprits([victim].iter());
        let rows: Vec<_> = found.iter().map(|culprit| (culprit.kind, culprit.own, culprit.took)).collect();
        let (long, short) = (Span::from_millis(20), Span::from_millis(1));
        assert_eq!(rows, [(CauseKind::Thread, long, long), (CauseKind::Others, short, short)]);
    }
}
