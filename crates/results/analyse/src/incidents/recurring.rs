//! Culprits that delay others periodically.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, MonotonicTime, Span};

use super::RecordedIncidents;
use super::culprit_of_cause::culprit_name;
use crate::periodicity::{PeriodicTimes, periodic_times};

/// Incidents within this of one of the same culprit have the same cause: several threads waited at once.
const SHORTEST: Span = Span::from_secs(1);
/// Usual periods of scheduled jobs: a minute, five, a quarter of an hour, an hour, a day.
const JOB_PERIODS: [Span; 5] = [
    Span::from_secs(60),
    Span::from_secs(300),
    Span::from_secs(900),
    Span::from_secs(3_600),
    Span::from_secs(86_400),
];
/// The main cause of an incident took at least this share of it.
const LEAST_SHARE: f64 = 0.5;

/// A culprit that recurs.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurringCulprit {
    pub kind: CauseKind,
    /// Its process, or its own name.
    /// Its process, or what it is called itself.
    pub name: String,
    /// Its period.
    pub rhythm: PeriodicTimes,
}

/// Culprits whose rhythm chance does not explain, the most certain first.
pub fn recurring_culprits(recorded: &RecordedIncidents) -> Vec<RecurringCulprit> {
    let intervals = recorded_intervals(recorded);
    let Some(began) = intervals.first().map(|first| first.0) else { return Vec::new() };
    let mut times: BTreeMap<(CauseKind, &str), Vec<i64>> = BTreeMap::new();
    for (culprit, at) in
        recorded.incidents.iter().filter(|incident| incident.at_ns >= began).filter_map(main_culprit)
    {
        times.entry(culprit).or_default().push(at);
    }
    let all = times.len();
    let find_rhythm = |((kind, name), times): ((CauseKind, &str), Vec<i64>)| {
        let rhythm = periodic_times(times, &intervals, (SHORTEST, &JOB_PERIODS), all)?;
        Some(RecurringCulprit { kind, name: name.to_owned(), rhythm })
    };
    let mut found: Vec<RecurringCulprit> = times.into_iter().filter_map(find_rhythm).collect();
    found.sort_by(|left, right| left.rhythm.p.total_cmp(&right.rhythm.p));
    found
}

/// The main culprit, if it has a name, and when the incident ended.
fn main_culprit(incident: &Incident) -> Option<((CauseKind, &str), i64)> {
    let cause = incident.causes.first().filter(|cause| cause.share >= LEAST_SHARE)?;
    let name = culprit_name(cause);
    (!name.is_empty()).then_some(((cause.kind, name), incident.at_ns.as_nanos()))
}

/// The recorded time; only since the machine was restarted, if it was, as its clock began anew.
fn recorded_intervals(recorded: &RecordedIncidents) -> Vec<(MonotonicTime, MonotonicTime)> {
    let mut all: Vec<(MonotonicTime, MonotonicTime)> = Vec::new();
    for minute in &recorded.minutes {
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
    fn ten_minutes(first: i64) -> RecordedIncidents {
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
        RecordedIncidents { incidents, minutes: (first..10).map(minute).collect(), shorter: 0, snaps: vec![] }
    }

    #[test]
    fn who_comes_back_is_told_and_who_comes_at_random_is_not() {
        let found = recurring_culprits(&ten_minutes(0));
        let [job] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((job.name.as_str(), job.rhythm.members, job.rhythm.of), ("job", 12, 12));
        assert!((job.rhythm.period.as_nanos() as f64 / 47e9 - 1.0).abs() < 1e-3, "{job:?}");
    }

    #[test]
    fn what_was_before_a_restart_is_on_another_clock() {
        let mut restarted = ten_minutes(0);
        restarted.minutes.insert(0, minute(900));
        assert_eq!(recurring_culprits(&restarted).len(), 1, "its clock began anew");
        assert!(recurring_culprits(&RecordedIncidents::default()).is_empty());
    }
}
