//! What was kept of a stretch of time, in bounded memory.

use howlate_model::{Incident, Line, RemovalReason, RemovedFiles, Snapshot, Span, WaitMinute};

/// Incidents that are held at once: of more, the longest.
const MOST: usize = 100_000;
/// Requests that are held at once: of more, the last.
const MOST_SNAPS: usize = 10_000;

/// All that is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// In the order in which they were written.
    pub incidents: Vec<Incident>,
    /// Incidents beyond those, all of them shorter.
    pub shorter: u64,
    /// Waits per group and minute, in order of time.
    pub minutes: Vec<WaitMinute>,
    /// When somebody asked for what all CPUs had done, in the order in which that was written.
    pub snaps: Vec<Snapshot>,
}

/// What is missing of it, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Late waits for which the kernel's side had no room.
    pub lost: u64,
    /// Late waits that were too many to be kept.
    pub left_out: u64,
    /// Switches that no event told of.
    pub unseen: u64,
    /// Lines of the recording that could not be written.
    pub lines: u64,
    /// Turns of marked loops that found no room, or cannot have been.
    pub turns: u64,
    /// Marked loops that were too many.
    pub loops: u64,
    /// Requests for what all CPUs had done that were too many.
    pub snaps: u64,
    /// Files that made room meanwhile.
    pub removed: Vec<RemovedFiles>,
}

impl Kept {
    /// Takes in a line if it is an incident, a request or a minute that is `wanted`, given a date and time and how long before: the end of
    /// an incident, the middle of a minute. Of a minute that is only in part, what is missing of it is taken in: when that was, it
    /// does not say, and on a machine that was too busy to end it in time it may have lasted long.
    pub fn add(&mut self, line: Line, wanted: impl Fn(&str, Span) -> bool) {
        match line {
            Line::Incident(incident) if wanted(&incident.at, Span::ZERO) => {
                self.incidents.push(*incident);
                if self.incidents.len() > 2 * MOST {
                    self.leave_out_the_shorter(MOST);
                }
            }
            Line::Snap(snap) if wanted(&snap.at, Span::ZERO) => {
                self.snaps.push(*snap);
                if self.snaps.len() > 2 * MOST_SNAPS {
                    self.snaps.drain(..MOST_SNAPS);
                }
            }
            Line::Minute(minute) => {
                let lasted = minute.until.since(minute.from);
                if wanted(&minute.at, Span::from_nanos(lasted.as_nanos() / 2)) {
                    self.minutes.push(*minute);
                } else if moments(lasted).any(|before| wanted(&minute.at, before)) {
                    self.minutes.push(WaitMinute { groups: Vec::new(), ..*minute });
                }
            }
            _ => {}
        }
    }

    /// Keeps only so many incidents, the longest; their order stays.
    pub fn leave_out_the_shorter(&mut self, most: usize) {
        if self.incidents.len() <= most {
            return;
        }
        let mut lengths: Vec<_> = self.incidents.iter().map(|one| one.latency).collect();
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        let Some(least) = lengths.get(most.saturating_sub(1)).copied() else { return };
        let mut as_long = lengths.iter().take(most).filter(|one| **one == least).count();
        let before = self.incidents.len();
        self.incidents.retain(|one| {
            let is_kept = one.latency > least || (one.latency == least && as_long > 0);
            as_long -= usize::from(is_kept && one.latency == least);
            is_kept
        });
        self.shorter += (before - self.incidents.len()) as u64;
    }

    /// What is missing of these minutes.
    pub fn missing(&self) -> Missing {
        let mut missing = Missing::default();
        for minute in &self.minutes {
            missing.lost = missing.lost.saturating_add(minute.incidents_lost);
            missing.left_out = missing.left_out.saturating_add(minute.incidents_left_out);
            missing.unseen = missing.unseen.saturating_add(minute.switches_unseen);
            missing.lines = missing.lines.saturating_add(minute.lines_lost);
            missing.turns = missing.turns.saturating_add(minute.turns_lost);
            missing.loops = missing.loops.saturating_add(minute.loops_left_out);
            missing.snaps = missing.snaps.saturating_add(minute.snaps_left_out);
            for one in &minute.removed {
                add(&mut missing.removed, one.reason, one.files);
            }
        }
        missing
    }
}

/// Of a stretch that lasted so long, how long before its end: second by second, or in a thousand steps.
fn moments(lasted: Span) -> impl Iterator<Item = Span> {
    let step = (lasted.as_nanos() / 1_000).max(1_000_000_000);
    (0..=lasted.as_nanos() / step).map(move |number| Span::from_nanos(number.saturating_mul(step)))
}

fn add(all: &mut Vec<RemovedFiles>, reason: RemovalReason, files: u64) {
    match all.iter_mut().find(|known| known.reason == reason) {
        Some(known) => known.files = known.files.saturating_add(files),
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
            late_above: None,
            timeline: None,
            turn: None,
        }))
    }

    #[test]
    fn the_longest_are_kept_in_their_order() {
        let mut kept = Kept::default();
        for (number, ms) in [5, 9, 3, 9, 9, 7].into_iter().enumerate() {
            kept.add(incident(&number.to_string(), ms), |at, _| at != "1");
        }
        kept.leave_out_the_shorter(3);
        let at: Vec<&str> = kept.incidents.iter().map(|one| one.at.as_str()).collect();
        assert_eq!((at, kept.shorter), (vec!["3", "4", "5"], 2));
        kept.leave_out_the_shorter(1);
        assert_eq!((kept.incidents[0].at.as_str(), kept.shorter), ("3", 4), "the first of two as long");
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
        };
        let between = |from: u64, until: u64| {
            let mut kept = Kept::default();
            let asked = Span::from_secs(135 - until)..=Span::from_secs(135 - from);
            kept.add(Line::Minute(Box::new(minute.clone())), |_, before| asked.contains(&before));
            (
                kept.missing().lost + kept.missing().lines,
                kept.minutes.iter().map(|one| one.groups.len()).sum::<usize>(),
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
