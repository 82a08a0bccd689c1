//! The incidents, waits and requests of a recording's time range, in bounded memory.

use howlate_model::{Incident, Line, RemovalReason, RemovedFiles, Snapshot, Span, WaitMinute};

/// Most incidents stored; of more, the longest.
const MOST_INCIDENTS: usize = 100_000;
/// Most requests stored; of more, the last.
const MOST_SNAPS: usize = 10_000;

/// The content of a time range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedIncidents {
    /// In the order in which they were written.
    pub incidents: Vec<Incident>,
    /// Number of incidents dropped, all of them shorter.
    pub shorter: u64,
    /// Waits per group and minute, in order of time.
    pub minutes: Vec<WaitMinute>,
    /// Requests to store the activity of all CPUs, in the order in which they were written.
    pub snaps: Vec<Snapshot>,
}

/// What a recording lacks, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingRecords {
    /// Late waits for which the kernel's buffer had no room.
    pub lost: u64,
    /// Late waits beyond the recorder's limit.
    pub left_out: u64,
    /// Switches without an event.
    pub unseen: u64,
    /// Lines of the recording that could not be written.
    pub lines: u64,
    /// Iterations of marked loops that were lost, or whose records are implausible.
    pub turns: u64,
    /// Marked loops beyond the limit.
    pub loops: u64,
    /// Requests beyond the limit.
    pub snaps: u64,
    /// Files deleted to make room.
    pub removed: Vec<RemovedFiles>,
}

impl RecordedIncidents {
    /// Takes in a line if it is an incident, a request or a minute in the range. `is_in_range` gets a date and time, and how long before
    /// it: the end of an incident, the middle of a minute. Of a minute only partly in the range, only what is missing counts: it does
    /// not say when that was, and on a machine too busy to end it in time it may have lasted long.
    pub fn add(&mut self, line: Line, is_in_range: impl Fn(&str, Span) -> bool) {
        match line {
            Line::Incident(incident) if is_in_range(&incident.at, Span::ZERO) => {
                self.incidents.push(*incident);
                if self.incidents.len() > 2 * MOST_INCIDENTS {
                    self.drop_shorter(MOST_INCIDENTS);
                }
            }
            Line::Snap(snap) if is_in_range(&snap.at, Span::ZERO) => {
                self.snaps.push(*snap);
                if self.snaps.len() > 2 * MOST_SNAPS {
                    self.snaps.drain(..MOST_SNAPS);
                }
            }
            Line::Minute(minute) => {
                let lasted = minute.until.since(minute.from);
                if is_in_range(&minute.at, Span::from_nanos(lasted.as_nanos() / 2)) {
                    self.minutes.push(*minute);
                } else if moments(lasted).any(|before| is_in_range(&minute.at, before)) {
                    self.minutes.push(WaitMinute { groups: Vec::new(), ..*minute });
                }
            }
            _ => {}
        }
    }

    /// Drops all but the `most` longest incidents; their order stays.
    pub fn drop_shorter(&mut self, most: usize) {
        if self.incidents.len() <= most {
            return;
        }
        let mut lengths: Vec<_> = self.incidents.iter().map(|incident| incident.latency).collect();
        lengths.sort_unstable_by(|left, right| right.cmp(left));
        let Some(least) = lengths.get(most.saturating_sub(1)).copied() else { return };
        let mut equal = lengths.iter().take(most).filter(|length| **length == least).count();
        let before = self.incidents.len();
        self.incidents.retain(|incident| {
            let is_kept = incident.latency > least || (incident.latency == least && equal > 0);
            equal -= usize::from(is_kept && incident.latency == least);
            is_kept
        });
        self.shorter += (before - self.incidents.len()) as u64;
    }

    /// What these minutes lack.
    pub fn missing(&self) -> MissingRecords {
        let mut missing = MissingRecords::default();
        for minute in &self.minutes {
            missing.lost = missing.lost.saturating_add(minute.incidents_lost);
            missing.left_out = missing.left_out.saturating_add(minute.incidents_left_out);
            missing.unseen = missing.unseen.saturating_add(minute.switches_unseen);
            missing.lines = missing.lines.saturating_add(minute.lines_lost);
            missing.turns = missing.turns.saturating_add(minute.turns_lost);
            missing.loops = missing.loops.saturating_add(minute.loops_left_out);
            missing.snaps = missing.snaps.saturating_add(minute.snaps_left_out);
            for removed in &minute.removed {
                add(&mut missing.removed, removed.reason, removed.files);
            }
        }
        missing
    }
}

/// Offsets before the end of a range of this length: second by second, or in a thousand steps.
fn moments(lasted: Span) -> impl Iterator<Item = Span> {
    let step = (lasted.as_nanos() / 1_000).max(1_000_000_000);
    (0..=lasted.as_nanos() / step).map(move |number| Span::from_nanos(number.saturating_mul(step)))
}

fn add(all: &mut Vec<RemovedFiles>, reason: RemovalReason, files: u64) {
    match all.iter_mut().find(|sum| sum.reason == reason) {
        Some(sum) => sum.files = sum.files.saturating_add(files),
        None => all.push(RemovedFiles { files, reason }),
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{IncidentKind, LateThread, MonotonicTime, WaitCounts};

    use super::*;

    fn incident(at: &str, ms: u64) -> Line {
        let thread = LateThread {
            command: None,
            name: "a".into(),
            process: "a".into(),
            pid: 7,
            tid: 7,
            uid: 0,
            group: None,
            policy: None,
        };
        Line::Incident(Box::new(Incident {
            at: at.to_owned(),
            at_ns: MonotonicTime::default(),
            latency: Span::from_millis(ms),
            thread,
            kind: IncidentKind::Woken,
            cpu: 0,
            parts: vec![],
            causes: vec![],
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: None,
            server: None,
        }))
    }

    #[test]
    fn the_longest_are_kept_in_their_order() {
        let mut recorded = RecordedIncidents::default();
        for (number, ms) in [5, 9, 3, 9, 9, 7].into_iter().enumerate() {
            recorded.add(incident(&number.to_string(), ms), |at, _| at != "1");
        }
        recorded.drop_shorter(3);
        let at: Vec<&str> = recorded.incidents.iter().map(|incident| incident.at.as_str()).collect();
        assert_eq!((at, recorded.shorter), (vec!["3", "4", "5"], 2));
        recorded.drop_shorter(1);
        assert_eq!(
            (recorded.incidents[0].at.as_str(), recorded.shorter),
            ("3", 4),
            "the first of two as long"
        );
    }

    #[test]
    fn what_is_missing_of_a_minute_counts_wherever_a_part_of_it_is_asked_for() {
        let minute = WaitMinute {
            at: "end".to_owned(),
            from: MonotonicTime::default(),
            until: MonotonicTime::default().plus(Span::from_secs(135)),
            groups: vec![group()],
            incidents_lost: 7,
            incidents_left_out: 0,
            switches_unseen: 0,
            lines_lost: 3,
            turns_lost: 0,
            loops_left_out: 0,
            snaps_left_out: 0,
            late_above: None,
            removed: Vec::new(),
            clock: None,
            requests: Vec::new(),
        };
        let between = |from: u64, until: u64| {
            let mut recorded = RecordedIncidents::default();
            let range = Span::from_secs(135 - until)..=Span::from_secs(135 - from);
            recorded.add(Line::Minute(Box::new(minute.clone())), |_, before| range.contains(&before));
            (
                recorded.missing().lost + recorded.missing().lines,
                recorded.minutes.iter().map(|minute| minute.groups.len()).sum::<usize>(),
            )
        };
        assert_eq!(between(0, 135), (10, 1));
        assert_eq!(between(60, 70), (10, 1), "its middle");
        assert_eq!(between(5, 15), (10, 0), "when its waits were, it does not say");
        assert_eq!(between(120, 135), (10, 0));
    }

    fn group() -> WaitCounts {
        WaitCounts {
            process: "a".into(),
            uid: 0,
            group: None,
            policy: "other".into(),
            late: 1,
            waits: Default::default(),
        }
    }
}
