//! Who holds up others again and again, in a rhythm.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, MonotonicTime, Span};

use super::Kept;
use super::charged::charged_to;
use crate::periodicity::{Rhythmic, rhythmic};

/// Incidents that follow one within this have its cause: whoever waited at the same time.
const SHORTEST: Span = Span::from_secs(1);
/// Rhythms that people set: a minute, five, a quarter of an hour, an hour, a day.
const KNOWN: [Span; 5] = [
    Span::from_secs(60),
    Span::from_secs(300),
    Span::from_secs(900),
    Span::from_secs(3_600),
    Span::from_secs(86_400),
];
/// What took as much of an incident is its cause.
const MOST: f64 = 0.5;

/// Somebody who comes back.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurringCulprit {
    /// What kind of thing.
    pub kind: CauseKind,
    /// Its process, or what it is called itself.
    pub name: String,
    /// How often.
    pub rhythm: Rhythmic,
}

/// Those of whom chance is no explanation, the most certain first.
pub fn recurring(kept: &Kept) -> Vec<RecurringCulprit> {
    let stretches = stretches(kept);
    let Some(began) = stretches.first().map(|first| first.0) else { return Vec::new() };
    let mut times: BTreeMap<(CauseKind, &str), Vec<i64>> = BTreeMap::new();
    for (who, at) in kept.incidents.iter().filter(|one| one.at_ns >= began).filter_map(hit) {
        times.entry(who).or_default().push(at);
    }
    let all = times.len();
    let of = |((kind, name), times): ((CauseKind, &str), Vec<i64>)| {
        let rhythm = rhythmic(times, &stretches, (SHORTEST, &KNOWN), all)?;
        Some(RecurringCulprit { kind, name: name.to_owned(), rhythm })
    };
    let mut found: Vec<RecurringCulprit> = times.into_iter().filter_map(of).collect();
    found.sort_by(|one, other| one.rhythm.p.total_cmp(&other.rhythm.p));
    found
}

/// Who took most of it, and when it ended; of what has a name.
fn hit(incident: &Incident) -> Option<((CauseKind, &str), i64)> {
    let cause = incident.causes.first().filter(|cause| cause.share >= MOST)?;
    let name = charged_to(cause);
    (!name.is_empty()).then_some(((cause.kind, name), incident.at_ns.as_nanos()))
}

/// When was recorded; since the machine was restarted, where it was: its clock began anew.
fn stretches(kept: &Kept) -> Vec<(MonotonicTime, MonotonicTime)> {
    let mut all: Vec<(MonotonicTime, MonotonicTime)> = Vec::new();
    for minute in &kept.minutes {
        if all.last().is_some_and(|last| minute.from < last.0) {
            all.clear();
        }
        all.push((minute.from, minute.until));
    }
    all
}
