//! Culprits that delay others periodically.

use std::collections::BTreeMap;

use howlate_model::{CauseKind, Incident, MonotonicTime, Segment, Span};

use super::RecordedIncidents;
use super::culprit_of_cause::{cause_of, culprit_name};
use crate::periodicity::{PeriodicTimes, periodic_times};

/// The searches for each culprit. Nearly all of the allowed false alarms are those of the last, as rare jobs have little evidence.
const SEARCHES: [RhythmSearch; 3] = [
    RhythmSearch {
        shortest: Span::from_millis(50),
        within: Some(Span::from_secs(400)),
        known: &[],
        false_alarms: 0.02,
    },
    RhythmSearch {
        shortest: Span::from_secs(1),
        within: Some(Span::from_secs(8_000)),
        known: &JOB_PERIODS,
        false_alarms: 0.02,
    },
    RhythmSearch { shortest: Span::from_secs(1), within: None, known: &JOB_PERIODS, false_alarms: 0.96 },
];
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

/// Periods from `shortest` on. Incidents within `shortest` of one of the same culprit count once with it, as several threads waited at
/// once. The grid of periods has room for 8 192 of the shortest one: of a longer recording, the part with the most incidents is searched.
struct RhythmSearch {
    shortest: Span,
    /// `None`: always the whole recording.
    within: Option<Span>,
    known: &'static [Span],
    /// Share of the allowed false alarms.
    false_alarms: f64,
}

/// A culprit that recurs.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurringCulprit {
    pub kind: CauseKind,
    /// Its process, or its own name.
    pub name: String,
    /// Its period.
    pub rhythm: PeriodicTimes,
    /// The part of the recording that was searched; `None`: all of it.
    pub within: Option<Span>,
}

type Interval = (MonotonicTime, MonotonicTime);

/// Culprits whose rhythm chance does not explain, the most certain first.
pub fn recurring_culprits(recorded: &RecordedIncidents) -> Vec<RecurringCulprit> {
    let intervals = recorded_intervals(recorded);
    let Some(began) = intervals.first().map(|first| first.0) else { return Vec::new() };
    let mut times: BTreeMap<(CauseKind, &str), Vec<MonotonicTime>> = BTreeMap::new();
    for (culprit, at) in
        recorded.incidents.iter().filter(|incident| incident.at_ns >= began).filter_map(main_culprit)
    {
        times.entry(culprit).or_default().push(at);
    }
    let tries = times.len();
    let find_rhythm = |((kind, name), mut times): ((CauseKind, &str), Vec<MonotonicTime>)| {
        times.sort_unstable();
        let all = SEARCHES.iter().filter_map(|search| search.find(&times, &intervals, tries));
        let (rhythm, within) = all.min_by(|left, right| left.0.p.total_cmp(&right.0.p))?;
        Some(RecurringCulprit { kind, name: name.to_owned(), rhythm, within })
    };
    let mut found: Vec<RecurringCulprit> = times.into_iter().filter_map(find_rhythm).collect();
    found.sort_by(|left, right| left.rhythm.p.total_cmp(&right.rhythm.p));
    found
}

impl RhythmSearch {
    /// The rhythm of `times`, which are in order, and the part of the recording if it is not searched whole.
    fn find(
        &self,
        times: &[MonotonicTime],
        intervals: &[Interval],
        culprits: usize,
    ) -> Option<(PeriodicTimes, Option<Span>)> {
        let (first, last) = (intervals.first()?.0, intervals.last()?.1);
        let part = self.within.filter(|within| *within < last.since(first));
        let (from, until) = part.map_or(Some((first, last)), |length| fullest(times, length))?;
        let clip = |(begin, end): &Interval| ((*begin).max(from), (*end).min(until));
        let intervals: Vec<Interval> =
            intervals.iter().map(clip).filter(|(begin, end)| begin < end).collect();
        let tries = culprits as f64 / self.false_alarms;
        let times = times.iter().filter(|time| (from..=until).contains(time)).map(|time| time.as_nanos());
        let rhythm = periodic_times(times.collect(), &intervals, (self.shortest, self.known), tries)?;
        Some((rhythm, part))
    }
}

/// The interval of this length that begins at one of `times` and has most of them.
fn fullest(times: &[MonotonicTime], length: Span) -> Option<Interval> {
    let count = |from: &MonotonicTime| {
        let until = from.plus(length);
        times.partition_point(|time| *time <= until) - times.partition_point(|time| time < from)
    };
    let from = *times.iter().rev().max_by_key(|from| count(from))?;
    Some((from, from.plus(length)))
}

/// The main culprit, if it has a name, and when it last had what the thread waited for.
fn main_culprit(incident: &Incident) -> Option<((CauseKind, &str), MonotonicTime)> {
    let cause = incident.causes.first().filter(|cause| cause.share >= LEAST_SHARE)?;
    let name = culprit_name(cause);
    let is_its_own = |part: &&Segment| {
        !part.merged
            && cause_of(incident, part).is_some_and(|of| (of.kind, culprit_name(of)) == (cause.kind, name))
    };
    let ended = incident.parts.iter().rfind(is_its_own).map(|part| part.from.plus(part.ns));
    (!name.is_empty()).then_some(((cause.kind, name), ended.unwrap_or(incident.at_ns)))
}

/// The recorded time; only since the machine was restarted, if it was, as its clock began anew.
fn recorded_intervals(recorded: &RecordedIncidents) -> Vec<Interval> {
    let mut all: Vec<Interval> = Vec::new();
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
    use howlate_model::{Cause, Part, WaitMinute};

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
            requests: Vec::new(),
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

    /// A process that takes the CPU for 20 ms at each of these times, while a thread waits that was due at a time within them.
    fn hog(minutes: i64, times: impl Iterator<Item = f64>) -> RecordedIncidents {
        let mut random = fastrand::Rng::with_seed(2);
        let mut wait = |began: f64| {
            let (due, ended) = (at(began + 0.014 * random.f64()), at(began + 0.020));
            let cause = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
            let part = Segment::new(cause, None, due, ended.since(due));
            let kernel = Cause::new(Part::Waiting, CauseKind::Kernel, String::new());
            let rest = Segment::new(kernel, None, ended, Span::from_micros(3));
            Incident {
                at_ns: ended.plus(rest.ns),
                parts: vec![part, rest],
                ..incident("web", &[("hog", None, 19)])
            }
        };
        let incidents = times.map(&mut wait).collect();
        RecordedIncidents {
            incidents,
            minutes: (0..minutes).map(minute).collect(),
            shorter: 0,
            snaps: vec![],
        }
    }

    #[test]
    fn a_rhythm_below_a_second_is_found_by_the_own_times_of_the_culprit() {
        let cycles = |count: u32| (1..count).map(|cycle| f64::from(cycle) * 0.13);
        let found = recurring_culprits(&hog(1, cycles(310)));
        let [short] = found.as_slice() else { panic!("{found:?}") };
        assert!((short.rhythm.period.as_nanos() as f64 / 130e6 - 1.0).abs() < 1e-5, "{short:?}");
        assert_eq!((short.rhythm.members, short.rhythm.of, short.within), (309, 309, None));
        // Of a day, the part with the most of them is searched.
        let in_a_day =
            cycles(1_000).map(|time| 40_000.0 + time).chain((0..50).map(|hour| f64::from(hour) * 1_777.7));
        let found = recurring_culprits(&hog(1_440, in_a_day));
        let [short] = found.as_slice() else { panic!("{found:?}") };
        assert!((short.rhythm.period.as_nanos() as f64 / 130e6 - 1.0).abs() < 1e-5, "{short:?}");
        assert_eq!(short.within, Some(Span::from_secs(400)));
    }

    /// The stated rate is 1 %: of 300 recordings 3 are wrong, and more than 9 with a chance of 1 in 900.
    #[test]
    fn a_busy_machine_has_no_rhythm() {
        let bursts = |seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let begins: Vec<f64> = (0..12).map(|_| random.f64() * 290.0).collect();
            let mut times: Vec<f64> = (0..150)
                .map(|_| begins[random.usize(..12)] + 4.0 * random.f64())
                .chain((0..50).map(|_| 290.0))
                .collect();
            times[150..].iter_mut().for_each(|time| *time *= random.f64());
            !recurring_culprits(&hog(5, times.into_iter())).is_empty()
        };
        let wrong = (0..300).filter(|seed| bursts(*seed)).count();
        assert!(wrong <= 9, "{wrong} of 300");
    }

    #[test]
    fn what_was_before_a_restart_is_on_another_clock() {
        let mut restarted = ten_minutes(0);
        restarted.minutes.insert(0, minute(900));
        assert_eq!(recurring_culprits(&restarted).len(), 1, "its clock began anew");
        assert!(recurring_culprits(&RecordedIncidents::default()).is_empty());
    }
}
