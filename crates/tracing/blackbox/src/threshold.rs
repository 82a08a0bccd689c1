//! The threshold of late waits: fixed, or a percentile of the last hour's waits.

use std::collections::VecDeque;
use std::path::Path;

use howlate_analyse::percentile;
use howlate_model::{Distribution, LateThreshold, Line, Span, WaitCounts};
use howlate_recording::read_between;
use jiff::{SignedDuration, Timestamp};

/// Minutes whose waits count.
const MINUTES: usize = 60;
/// Initial threshold, unless the minimum is longer, until there are enough waits for a percentile.
const AT_FIRST: Span = Span::from_millis(5);

/// The threshold and the waits of the last hour.
#[derive(Debug)]
pub(crate) struct Threshold {
    rule: LateThreshold,
    hour: VecDeque<Distribution>,
    now: Span,
    /// The previous threshold: waits that exceeded it may not have been read yet.
    before: Span,
}

impl Threshold {
    pub(crate) fn begin(rule: LateThreshold) -> Self {
        let now = match rule {
            LateThreshold::Length(length) => length,
            LateThreshold::Percentile { least, .. } => least.max(AT_FIRST),
        };
        Self { rule, hour: VecDeque::new(), now, before: now }
    }

    pub(crate) const fn now(&self) -> Span {
        self.now
    }

    /// The current threshold; `None` if it is fixed.
    pub(crate) fn changing(&self) -> Option<Span> {
        self.rule.percent().map(|_| self.now)
    }

    /// The threshold that a wait exceeded; `None` if it is fixed.
    pub(crate) fn of(&self, waited: Span) -> Option<Span> {
        self.changing().map(|now| if waited > now { now } else { self.before.min(now) })
    }

    /// Restores the last hour from a previous recording in `folder`; returns whether the threshold changed.
    pub(crate) fn recall(&mut self, folder: &Path) -> bool {
        if self.rule.percent().is_none() {
            return false;
        }
        let since = Timestamp::now().saturating_sub(SignedDuration::from_hours(1)).unwrap_or_default();
        let is_recent = |at: &str| at.parse::<Timestamp>().is_ok_and(|at| at > since);
        let mut recalled = VecDeque::new();
        let read = read_between(folder, (Some(since), None), |line| match line {
            Line::Minute(minute) if is_recent(&minute.at) => remember(&mut recalled, &minute.groups),
            _ => {}
        });
        // On errors it starts with an empty hour.
        self.hour = if read.is_ok() { recalled } else { VecDeque::new() };
        self.follow()
    }

    /// Adds the waits of a minute; returns whether the threshold changed.
    pub(crate) fn end_minute(&mut self, groups: &[WaitCounts]) -> bool {
        if self.rule.percent().is_none() {
            return false;
        }
        remember(&mut self.hour, groups);
        self.follow()
    }

    fn follow(&mut self) -> bool {
        let LateThreshold::Percentile { percent, least } = self.rule else { return false };
        let mut all = Distribution::default();
        self.hour.iter().for_each(|minute| all.merge(minute));
        // Unchanged with too few waits.
        let at = percentile(&all, percent / 100.0).and_then(|at| u64::try_from(at.as_nanos()).ok());
        self.before = self.now;
        self.now = at.map_or(self.now, |at| Span::from_nanos(at).max(least));
        self.now != self.before
    }
}

fn remember(hour: &mut VecDeque<Distribution>, groups: &[WaitCounts]) {
    let mut minute = Distribution::default();
    groups.iter().for_each(|group| minute.merge(&group.waits));
    hour.push_back(minute);
    if hour.len() > MINUTES {
        hour.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Latency, MonotonicTime, WaitMinute};

    use super::*;

    /// A group with `many` waits of `ms` milliseconds and a thousand of 1 µs.
    fn waited(many: u64, ms: i64) -> Vec<WaitCounts> {
        let mut waits = Distribution::default();
        waits.record_n(Latency::from_nanos(1_000), 1_000);
        waits.record_n(Latency::from_nanos(ms * 1_000_000), many);
        let (process, policy) = ("a".to_owned(), "other".to_owned());
        vec![WaitCounts { process, uid: 0, group: None, policy, late: 0, waits }]
    }

    fn at(threshold: &Threshold) -> u64 {
        threshold.now().as_nanos() / 1_000_000
    }

    #[test]
    fn it_follows_the_waits_of_the_last_hour_down_to_the_least() {
        let mut threshold = Threshold::begin("p99,2ms".parse().unwrap());
        assert_eq!(at(&threshold), 5, "of nothing, there is no percentile");
        assert!(threshold.end_minute(&waited(100, 20)));
        // Within a bucket.
        assert!((18..=22).contains(&at(&threshold)), "{threshold:?}");
        for _ in 0..MINUTES - 1 {
            threshold.end_minute(&waited(0, 0));
        }
        assert_eq!(at(&threshold), 2, "100 of 60 000 are fewer than 1 %: the least");
        assert!(!threshold.end_minute(&waited(0, 0)) && threshold.hour.len() == MINUTES);
    }

    #[test]
    fn an_incident_says_above_what_it_was_late() {
        let mut threshold = Threshold::begin("p99,2ms".parse().unwrap());
        let ms = Span::from_millis;
        assert_eq!(threshold.of(ms(7)), Some(ms(5)));
        threshold.end_minute(&waited(100, 20));
        assert_eq!(threshold.of(ms(7)), Some(ms(5)), "it was seen before, and is read only now");
        assert_eq!(threshold.of(ms(40)), Some(threshold.now()));
        let mut fixed = Threshold::begin("5ms".parse().unwrap());
        assert!(!fixed.end_minute(&waited(100, 20)));
        assert_eq!((fixed.of(ms(7)), fixed.changing(), at(&fixed)), (None, None, 5));
    }

    #[test]
    fn it_goes_on_from_what_was_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let minute = |at: Timestamp| {
            let (from, until) = (MonotonicTime::default(), MonotonicTime::default());
            let (incidents_lost, incidents_left_out, switches_unseen, removed) = (0, 0, 0, vec![]);
            let (late_above, groups, at) = (None, waited(100, 20), at.to_string());
            serde_json::to_string(&Line::Minute(Box::new(WaitMinute {
                at,
                from,
                until,
                groups,
                incidents_lost,
                incidents_left_out,
                switches_unseen,
                lines_lost: 0,
                turns_lost: 0,
                loops_left_out: 0,
                snaps_left_out: 0,
                late_above,
                removed,
                clock: None,
                requests: Vec::new(),
            })))
            .unwrap()
        };
        let header = howlate_model::Header::for_conditions(vec![]);
        let header = serde_json::to_string(&Line::Header(Box::new(header))).unwrap();
        let now = Timestamp::now();
        let recall = |minutes_ago: i64| {
            let then = now - SignedDuration::from_mins(minutes_ago);
            let text = format!("{header}\n{}\n", minute(then));
            std::fs::write(folder.path().join("00000001-20261125T021500Z.jsonl"), text).unwrap();
            let mut threshold = Threshold::begin("p99".parse().unwrap());
            threshold.recall(folder.path());
            at(&threshold)
        };
        assert!((18..=22).contains(&recall(30)));
        assert_eq!(recall(90), 5, "that is longer than an hour ago");
    }
}
