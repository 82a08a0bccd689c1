//! Who holds up others again and again, in a rhythm.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, MonotonicTime, Span};

use super::Kept;
use super::charged::charged_to;
use crate::periodicity::{PeriodicTimes, periodic_times};

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
    pub rhythm: PeriodicTimes,
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
        let rhythm = periodic_times(times, &stretches, (SHORTEST, &KNOWN), all)?;
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

#[cfg(test)]
mod tests {
    use howlate_model::WaitMinute;

    use super::*;
    use crate::incidents::culprits::tests::incident;

    const SECOND: i64 = 1_000_000_000;

    fn at(seconds: f64) -> MonotonicTime {
        #[allow(clippy::cast_possible_truncation, reason = "some minutes")]
        MonotonicTime::from_nanos((seconds * SECOND as f64) as i64)
    }

    fn minute(number: i64) -> WaitMinute {
        let (from, until) = (60 * number, 60 * (number + 1));
        let [from, until] = [from, until].map(|seconds| MonotonicTime::from_nanos(seconds * SECOND));
        WaitMinute {
            at: String::new(),
            from,
            until,
            groups: vec![],
            incidents_lost: 0,
            incidents_left_out: 0,
            switches_unseen: 0,
            lines_lost: 0,
            turns_lost: 0,
            loops_left_out: 0,
            snaps_left_out: 0,
            clock: None,
            late_above: None,
            removed: vec![],
        }
    }

    /// Ten minutes: a job every 47 s, for which three threads wait, and a compiler now and then.
    fn kept(first: i64) -> Kept {
        let mut random = fastrand::Rng::with_seed(1);
        let hit =
            |at_ns, name: &str, victim: &str| Incident { at_ns, ..incident(victim, &[(name, None, 30)]) };
        let mut incidents = Vec::new();
        for cycle in 0..12 {
            let jitter = random.f64() * 0.05;
            let late = ["web", "db", "log"]
                .map(|victim| hit(at(11.0 + f64::from(cycle) * 47.0 + jitter), "job", victim));
            incidents.extend(late);
        }
        incidents.extend((0..30).map(|_| hit(at(random.f64() * 600.0), "rustc", "web")));
        Kept { incidents, minutes: (first..10).map(minute).collect(), shorter: 0, snaps: vec![] }
    }

    #[test]
    fn who_comes_back_is_told_and_who_comes_at_random_is_not() {
        let found = recurring(&kept(0));
        let [job] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((job.name.as_str(), job.rhythm.members, job.rhythm.of), ("job", 12, 12));
        assert!((job.rhythm.period.as_nanos() as f64 / 47e9 - 1.0).abs() < 1e-3, "{job:?}");
    }

    #[test]
    fn what_was_before_a_restart_is_on_another_clock() {
        let mut restarted = kept(0);
        restarted.minutes.insert(0, minute(900));
        assert_eq!(recurring(&restarted).len(), 1, "its clock began anew");
        assert!(recurring(&Kept::default()).is_empty());
    }
}
