//! Counters over a recorder's lines, for exporters that are read repeatedly: they only grow, for a bounded number of names.

use std::collections::BTreeMap;

use howlate_model::{Distribution, Incident, IncidentKind, Line, RequestCounts, Span, WaitCounts};

use super::Grouping;
use super::culprit_of_cause::culprit_name;
use super::group_waits::server_name;

/// Most groups, half of them reserved for those that were late; all others count as one.
const MOST_GROUPS: usize = 50;
/// Most pairs of victim and culprit.
const MOST_PAIRS: usize = 4_096;
/// Name of the group, and of the pair, for what exceeds the limits.
const OTHERS: &str = "(others)";

/// Counts since the start of the exporter.
#[derive(Clone, Debug, Default)]
pub struct LateCounts {
    /// How threads are grouped.
    pub by: Grouping,
    /// Names of users.
    pub users: BTreeMap<u32, String>,
    /// All waits, late or not, by group.
    pub waits: BTreeMap<String, Distribution>,
    /// How long requests took, by program and server.
    pub requests: BTreeMap<String, Distribution>,
    /// How long a victim waited for a culprit, in late waits.
    pub waited: BTreeMap<(String, String), Span>,
    /// Late waits that are in no pair: beyond the recorder's limit, or lost for lack of room.
    pub dropped: u64,
    /// When the last minute ended: date and time.
    pub until: Option<String>,
}

impl LateCounts {
    /// Takes in a line, if it is an incident or a minute.
    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Incident(incident) if incident.kind != IncidentKind::Request => self.add_incident(incident),
            Line::Minute(minute) => {
                self.dropped += minute.incidents_lost + minute.incidents_left_out;
                self.until = Some(minute.at.clone());
                minute.groups.iter().for_each(|group| self.add_group(group));
                minute.requests.iter().for_each(|server| self.add_requests(server));
            }
            _ => {}
        }
    }

    fn add_group(&mut self, counts: &WaitCounts) {
        let name = self.by.group_of(&counts.process, counts.group.as_deref(), counts.uid, &self.users);
        let room = if counts.late > 0 { MOST_GROUPS } else { MOST_GROUPS / 2 };
        let has_room = self.waits.contains_key(&name) || self.waits.len() < room;
        let name = if has_room { name } else { OTHERS.to_owned() };
        self.waits.entry(name).or_default().merge(&counts.waits);
    }

    fn add_requests(&mut self, counts: &RequestCounts) {
        let name = server_name(counts);
        let has_room = self.requests.contains_key(&name) || self.requests.len() < MOST_GROUPS;
        let name = if has_room { name } else { OTHERS.to_owned() };
        self.requests.entry(name).or_default().merge(&counts.requests);
    }

    fn add_incident(&mut self, incident: &Incident) {
        let thread = &incident.thread;
        let victim = self.by.group_of(&thread.process, thread.group.as_deref(), thread.uid, &self.users);
        for cause in &incident.causes {
            let name = Some(culprit_name(cause)).filter(|name| !name.is_empty()).unwrap_or(cause.kind.name());
            let pair = (victim.clone(), name.to_owned());
            let has_room = self.waited.contains_key(&pair) || self.waited.len() < MOST_PAIRS;
            let pair = if has_room { pair } else { (OTHERS.to_owned(), OTHERS.to_owned()) };
            let took = self.waited.entry(pair).or_default();
            *took = took.plus(cause.took);
        }
    }

    /// At most `most` pairs, those with the longest time.
    pub fn longest(&self, most: usize) -> Vec<(&(String, String), Span)> {
        let mut all: Vec<_> = self.waited.iter().map(|(pair, took)| (pair, *took)).collect();
        all.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{CauseKind, IncidentCause, LateThread, Latency, MonotonicTime, WaitMinute};

    use super::*;

    fn group(process: &str, late: u64) -> WaitCounts {
        let mut waits = Distribution::default();
        waits.record(Latency::from_nanos(5));
        let (process, policy) = (process.to_owned(), "other".to_owned());
        WaitCounts { process, uid: 0, group: None, policy, late, waits }
    }

    fn minute(groups: Vec<WaitCounts>) -> Line {
        let (from, until) = (MonotonicTime::default(), MonotonicTime::default());
        let at = "2026-11-25T03:13:00Z".to_owned();
        let (incidents_lost, incidents_left_out, switches_unseen, removed) = (1, 2, 0, vec![]);
        Line::Minute(Box::new(WaitMinute {
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
            late_above: None,
            removed,
            clock: None,
            requests: Vec::new(),
        }))
    }

    fn incident(victim: &str, culprit: Option<&str>, ms: u64) -> Line {
        let name = victim.to_owned();
        let (pid, tid, uid, group, policy) = (7, 7, 0, None, None);
        let thread = LateThread { command: None, process: name.clone(), name, pid, tid, uid, group, policy };
        let cause = IncidentCause {
            process_id: None,
            command: None,
            is_recorder: false,
            kind: CauseKind::Thread,
            name: culprit.map(str::to_owned),
            pid: None,
            process: None,
            policy: None,
            group: None,
            took: Span::from_millis(ms),
            share: 1.0,
        };
        Line::Incident(Box::new(Incident {
            at: String::new(),
            at_ns: MonotonicTime::default(),
            latency: Span::from_millis(ms),
            thread,
            kind: IncidentKind::Woken,
            cpu: 0,
            parts: vec![],
            causes: vec![cause],
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: None,
            server: None,
        }))
    }

    #[test]
    fn names_are_bounded_and_nothing_is_lost() {
        let mut counts = LateCounts::default();
        let many = |late: u64| (0..200).map(|number| group(&format!("{late} {number}"), late)).collect();
        counts.add(&minute(many(0)));
        assert_eq!(counts.waits.len(), MOST_GROUPS / 2 + 1, "half of them and the others");
        counts.add(&minute(many(1)));
        assert_eq!(counts.waits.len(), MOST_GROUPS);
        assert_eq!(counts.waits.values().map(Distribution::count).sum::<u64>(), 400);
        assert_eq!((counts.dropped, counts.until.as_deref()), (6, Some("2026-11-25T03:13:00Z")));
    }

    #[test]
    fn pairs_add_up_and_are_bounded() {
        let mut counts = LateCounts::default();
        for (victim, culprit, ms) in [("web", Some("hog"), 5), ("web", Some("hog"), 7), ("db", None, 20)] {
            counts.add(&incident(victim, culprit, ms));
        }
        let pair = |victim: &str, culprit: &str| (victim.to_owned(), culprit.to_owned());
        let longest = counts.longest(1);
        assert_eq!(
            longest,
            [(&pair("db", "thread"), Span::from_millis(20))],
            "its kind, where it has no name"
        );
        assert_eq!(counts.waited[&pair("web", "hog")], Span::from_millis(12));
        (0..2 * MOST_PAIRS).for_each(|number| counts.add(&incident(&number.to_string(), Some("hog"), 1)));
        assert_eq!(counts.waited.len(), MOST_PAIRS + 1);
    }
}
