//! When no recorder ran, within the requested time.

use howlate_model::{MonotonicTime, Span, WaitMinute};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::IncidentReport;
use crate::numbers::{count, rough};

/// A recorder's minutes follow each other on its clock. Shorter gaps are not reported: the wall clock may have been adjusted meanwhile.
const LEAST: SignedDuration = SignedDuration::from_secs(1);
/// No minute takes longer, unless the machine is too busy to end it.
const FIRST_MINUTE: SignedDuration = SignedDuration::from_secs(120);
/// Most gaps that the text names: the longest.
const NAMED: usize = 3;

/// A time without a line of the recording, by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Unrecorded")]
pub(super) struct UnrecordedTime {
    /// The last line before, or the begin of the requested time, RFC 3339.
    #[schemars(with = "String")]
    pub(super) from: Timestamp,
    /// The next line, or when a recorder began again, RFC 3339.
    #[schemars(with = "String")]
    pub(super) until: Timestamp,
}

impl UnrecordedTime {
    fn length(self) -> SignedDuration {
        self.until.duration_since(self.from)
    }
}

/// A minute by both clocks.
#[derive(Clone, Copy)]
struct MinuteTimes {
    began: Timestamp,
    ended: Timestamp,
    from: MonotonicTime,
    until: MonotonicTime,
}

impl MinuteTimes {
    fn of(minute: &WaitMinute) -> Option<Self> {
        let (ended, lasted) = (minute.at.parse::<Timestamp>().ok()?, minute.until.since(minute.from));
        let lasted = SignedDuration::from_nanos(i64::try_from(lasted.as_nanos()).ok()?);
        Some(Self { began: ended.checked_sub(lasted).ok()?, ended, from: minute.from, until: minute.until })
    }
}

impl IncidentReport {
    /// Times without a recorder before and between its minutes, in order. Whatever is after the last line, `doubts` says.
    pub(super) fn unrecorded(&self) -> Vec<UnrecordedTime> {
        let minutes: Vec<MinuteTimes> = self.recording.minutes.iter().filter_map(MinuteTimes::of).collect();
        let before = self.from.filter(|from| self.oldest.is_some_and(|oldest| oldest <= *from));
        let before = before.zip(minutes.first()).map(|(from, first)| (from, first.began));
        // The first minute may have begun before the requested time.
        let before = before.filter(|(from, began)| from < began);
        let between = minutes.windows(2).filter_map(|pair| match pair {
            // The same recorder, whatever was done to the wall clock.
            [last, next] if last.until == next.from => None,
            [last, next] => Some((last.ended, next.began)),
            _ => None,
        });
        let running = self.began_anew(minutes.last());
        let gap = |(from, until)| self.longest_between(from, until);
        before
            .into_iter()
            .chain(between)
            .chain(running)
            .map(gap)
            .filter(|gap| gap.length() >= LEAST)
            .collect()
    }

    /// The time before a recorder that runs and has not ended its first minute.
    fn began_anew(&self, last: Option<&MinuteTimes>) -> Option<(Timestamp, Timestamp)> {
        let began = self.written.newest.filter(|_| self.written.is_recording)?;
        let from = match last {
            // Within a minute, the next file may have begun for want of room.
            Some(minute) => {
                minute.ended.checked_add(FIRST_MINUTE).is_ok_and(|end| end < began).then_some(minute.ended)
            }
            None => self.from.filter(|from| self.oldest.is_some_and(|oldest| oldest <= *from)),
        }?;
        let is_asked_for = self.until.is_none_or(|until| until > began);
        is_asked_for.then_some((from, began))
    }

    /// The longest time between two lines from one time to the other: a killed recorder leaves its last minute uncounted, and the next one
    /// sees incidents before its first minute begins.
    fn longest_between(&self, from: Timestamp, until: Timestamp) -> UnrecordedTime {
        let incidents = self.recording.incidents.iter().filter_map(|incident| incident.at.parse().ok());
        let mut lines: Vec<Timestamp> = incidents.filter(|at| (from..until).contains(at)).collect();
        lines.extend([from, until]);
        lines.sort_unstable();
        let gaps = lines.windows(2).map(|pair| UnrecordedTime { from: pair[0], until: pair[1] });
        gaps.max_by_key(|gap| gap.length()).unwrap_or(UnrecordedTime { from, until })
    }

    /// `Nothing was recorded from … to … (8 min 10 s), and in 4 shorter times.`
    pub(super) fn unrecorded_in_words(&self) -> Option<String> {
        let mut gaps = self.unrecorded();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.length()));
        let shorter = gaps.len().saturating_sub(NAMED);
        gaps.truncate(NAMED);
        gaps.sort_by_key(|gap| gap.from);
        let named = |gap: &UnrecordedTime| {
            let length = Span::from_nanos(u64::try_from(gap.length().as_nanos()).unwrap_or(0));
            format!("from {} to {} ({})", self.local(gap.from), self.local(gap.until), rough(length))
        };
        let named = gaps.iter().map(named).collect::<Vec<_>>().join(", ");
        let shorter = match shorter {
            0 => String::new(),
            1 => ", and in a shorter time".to_owned(),
            more => format!(", and in {} shorter times", count(more as u64)),
        };
        (!gaps.is_empty()).then(|| format!("Nothing was recorded {named}{shorter}: no recorder ran."))
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Incident;

    use super::*;
    use crate::incidents::RecordingState;
    use crate::incidents::tests::{incident, incident_report};

    /// Minutes that end at these seconds after 03:00, by the monotonic and the wall clock.
    fn report(minutes: &[(i64, i64)], incidents: &[&str]) -> IncidentReport {
        let mut report = incident_report(vec![]);
        let at = |second: &i64| report.from.unwrap() + SignedDuration::from_secs(second - 720);
        let nanos = |second: i64| MonotonicTime::from_nanos(second * 1_000_000_000);
        let minute = |(monotonic, wall): &(i64, i64)| WaitMinute {
            at: at(wall).to_string(),
            from: nanos(monotonic - 60),
            until: nanos(*monotonic),
            ..report.recording.minutes[0].clone()
        };
        let minutes = minutes.iter().map(minute).collect();
        let incident = |at: &&str| Incident { at: format!("2026-11-25T03:{at}Z"), ..incident() };
        report.recording.incidents = incidents.iter().map(incident).collect();
        report.recording.minutes = minutes;
        IncidentReport { from: Some(at(&0)), oldest: Some(at(&-9)), until: None, ..report }
    }

    fn gaps(report: &IncidentReport) -> Vec<String> {
        let time = |at: Timestamp| at.strftime("%H:%M:%S").to_string();
        report.unrecorded().iter().map(|gap| format!("{} {}", time(gap.from), time(gap.until))).collect()
    }

    // minutes   |---|---|          |---|---|
    //           0      120        720     840
    #[test]
    fn times_without_a_recorder_are_said() {
        let ended = report(&[(60, 60), (120, 120), (780, 780), (840, 840)], &[]);
        assert_eq!(gaps(&ended), ["03:02:00 03:12:00"]);
        let line = ended.doubts();
        let expected = "Nothing was recorded from 2026-11-25 03:02:00 UTC to 2026-11-25 03:12:00 UTC (10 min 00 s): no recorder ran.";
        assert!(line.iter().any(|line| line == expected), "{line:?}");
        let killed = report(&[(60, 60), (120, 120), (780, 780)], &["02:40.5", "11:58", "12:10"]);
        assert_eq!(gaps(&killed), ["03:02:40 03:11:58"], "its last minute was not counted");
        assert_eq!(gaps(&report(&[(780, 780)], &[])), ["03:00:00 03:12:00"], "the first began later");
        let asked_within = report(&[(45, 45), (105, 105)], &[]);
        assert!(gaps(&asked_within).is_empty(), "its first minute began earlier: {:?}", gaps(&asked_within));
        let set_forward = report(&[(60, 60), (120, 600)], &[]);
        assert!(gaps(&set_forward).is_empty(), "one recorder, and a wall clock that was set");
        assert_eq!(
            gaps(&report(&[(900, 60), (70, 780)], &[])),
            ["03:01:00 03:12:00"],
            "the machine was restarted"
        );
        assert!(incident_report(vec![]).unrecorded().is_empty());
        let many: Vec<(i64, i64)> = (1..=9).map(|number| (number * 100, number * 100)).collect();
        let many = report(&many, &[]).unrecorded_in_words().unwrap();
        assert!(many.ends_with("(40.0 s), and in 6 shorter times: no recorder ran."), "{many}");
    }

    #[test]
    fn a_recorder_that_has_just_begun_says_since_when() {
        let of = |minutes: &[(i64, i64)], newest: i64| {
            let mut report = report(minutes, &[]);
            let newest = report.from.map(|from| from + SignedDuration::from_secs(newest));
            report.written = RecordingState { last: newest, newest, is_recording: true };
            gaps(&report)
        };
        assert_eq!(of(&[(60, 60)], 600), ["03:01:00 03:10:00"]);
        assert_eq!(of(&[], 600), ["03:00:00 03:10:00"]);
        assert!(of(&[(60, 60)], 110).is_empty(), "the next file of the same recorder");
    }
}
