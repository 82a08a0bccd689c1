//! The wake-ups of a condition with the largest latencies, in bounded memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use howlate_model::{Block, Cause, CauseBlock, MonotonicTime, WakeupBreakdown};
use schemars::JsonSchema;
use serde::Serialize;

/// Most wake-ups stored per condition; with more than ten conditions, fewer.
const MOST_PER_CONDITION: usize = 2_000;
const MOST_OF_ALL: usize = 10 * MOST_PER_CONDITION;
/// Most intervals stored: a thread watched for weeks has a gap between any two blocks.
const MOST_INTERVALS: usize = 4_096;
/// With less room, nothing is stored.
const LEAST_ROOM: usize = 50;
/// Most different causes.
const MOST_CAUSES: usize = 256;

/// A late wake-up: its latency and when it ran, in nanoseconds, and its main cause, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LateMark {
    pub(super) late: i64,
    pub(super) ran: i64,
    pub(super) cause: Option<u16>,
}

/// The wake-ups with the largest latencies, and the times that were measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateMarks {
    room: usize,
    /// The one with the smallest latency first.
    largest: BinaryHeap<Reverse<LateMark>>,
    causes: Vec<Cause>,
    /// The measured time in nanoseconds; blocks without a gap are one interval.
    intervals: Vec<(i64, i64)>,
}

impl LateMarks {
    /// For one of `conditions` conditions.
    pub(crate) fn with_room(conditions: usize) -> Self {
        let room = (MOST_OF_ALL / conditions.max(1)).min(MOST_PER_CONDITION);
        Self { room: if room < LEAST_ROOM { 0 } else { room }, ..Self::default() }
    }

    pub(crate) fn add_block(&mut self, block: &Block) {
        self.add_interval(block.from, block.until);
        block.worst.iter().for_each(|wakeup| self.add(wakeup.latency.as_nanos(), wakeup.at, None));
    }

    pub(crate) fn add_why(&mut self, block: &CauseBlock) {
        if self.room == 0 {
            return;
        }
        self.add_interval(block.from, block.until);
        for wakeup in block.ledger.worst() {
            let cause = self.main_cause(wakeup);
            self.add(wakeup.latency.as_nanos(), wakeup.at, cause);
        }
    }

    fn add_interval(&mut self, from: MonotonicTime, until: MonotonicTime) {
        let (from, until) = (from.as_nanos(), until.as_nanos());
        match self.intervals.last_mut() {
            Some(last) if (last.0..=last.1).contains(&from) => last.1 = last.1.max(until),
            _ if self.room > 0 && until > from => self.intervals.push((from, until)),
            _ => {}
        }
        if self.intervals.len() >= MOST_INTERVALS {
            let pairs = self.intervals.chunks(2);
            self.intervals = pairs.map(|pair| (pair[0].0, pair[pair.len() - 1].1)).collect();
        }
    }

    fn add(&mut self, late: i64, ran: MonotonicTime, cause: Option<u16>) {
        let mark = LateMark { late, ran: ran.as_nanos(), cause };
        let is_full = self.largest.len() >= self.room;
        if is_full && self.largest.peek().is_none_or(|least| mark <= least.0) {
            return;
        }
        if is_full {
            self.largest.pop();
        }
        self.largest.push(Reverse(mark));
    }

    /// Index of the cause that took most of the wake-up's latency.
    fn main_cause(&mut self, wakeup: &WakeupBreakdown) -> Option<u16> {
        let most = wakeup.by_cause().into_iter().max_by_key(|(part, _)| part.ns)?.0.cause;
        let place = self.causes.iter().position(|cause| *cause == most);
        let place = match place {
            Some(place) => place,
            None if self.causes.len() >= MOST_CAUSES => return None,
            None => {
                self.causes.push(most);
                self.causes.len() - 1
            }
        };
        u16::try_from(place).ok()
    }

    /// The cause with this index.
    pub(super) fn cause_at(&self, place: u16) -> Option<&Cause> {
        self.causes.get(usize::from(place))
    }

    /// The largest latency first; a wake-up that a tracer saw too is listed once.
    pub(super) fn largest_first(&self) -> Vec<LateMark> {
        let mut all: Vec<LateMark> = self.largest.iter().map(|mark| mark.0).collect();
        all.sort_unstable_by_key(|mark| (mark.ran, Reverse(mark.cause)));
        all.dedup_by_key(|mark| mark.ran);
        all.sort_unstable_by(|left, right| right.cmp(left));
        all
    }

    /// The measured time, in order and without overlaps.
    pub(super) fn intervals(&self) -> Vec<(i64, i64)> {
        let mut all = self.intervals.clone();
        all.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (from, until) in all {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => joined.push((from, until)),
            }
        }
        joined
    }
}

/// Least number of wake-ups of the rhythm with a known cause.
const LEAST_KNOWN: usize = 3;
/// The share of them that one cause must have taken most of.
const LEAST_SHARE: f64 = 0.5;

/// What took most of the late wake-ups that come back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecurringCause {
    /// What it was.
    #[serde(flatten)]
    pub cause: Cause,
    /// Of how many it took most.
    pub took: usize,
    /// Of how many that is known.
    pub known: usize,
}

/// The main cause of the wake-ups that `is_member` assigns to the rhythm.
pub(super) fn recurring_cause(
    latest: &[LateMark],
    marks: &LateMarks,
    is_member: impl Fn(&LateMark) -> bool,
) -> Option<RecurringCause> {
    let mut times: HashMap<u16, usize> = HashMap::new();
    let causes = latest.iter().filter(|mark| is_member(mark)).filter_map(|mark| mark.cause);
    causes.for_each(|cause| *times.entry(cause).or_default() += 1);
    let with_cause: usize = times.values().sum();
    let (place, took) = times.into_iter().max_by_key(|(place, took)| (*took, Reverse(*place)))?;
    let is_main = with_cause >= LEAST_KNOWN && took as f64 >= LEAST_SHARE * with_cause as f64;
    let cause = marks.cause_at(place).filter(|_| is_main)?.clone();
    Some(RecurringCause { cause, took, known: with_cause })
}

#[cfg(test)]
mod tests {
    use howlate_model::{Latency, WorstWakeup};

    use super::*;

    fn block(from: i64, until: i64, worst: &[(i64, i64)]) -> Block {
        let at = MonotonicTime::from_nanos;
        let worst =
            worst.iter().map(|(ran, late)| WorstWakeup { at: at(*ran), latency: Latency::from_nanos(*late) });
        Block { from: at(from), until: at(until), worst: worst.collect(), ..Block::default() }
    }

    #[test]
    fn the_latest_stay_and_what_was_measured_is_one_where_it_joins() {
        let mut marks = LateMarks { room: 2, ..LateMarks::default() };
        marks.add_block(&block(0, 10, &[(3, 50), (5, 7)]));
        marks.add_block(&block(10, 20, &[(12, 9)]));
        marks.add_block(&block(30, 40, &[(33, 8)]));
        assert_eq!(
            marks.largest_first().iter().map(|mark| (mark.ran, mark.late)).collect::<Vec<_>>(),
            [(3, 50), (12, 9)]
        );
        assert_eq!(marks.intervals(), [(0, 20), (30, 40)]);
    }

    #[test]
    fn a_watch_of_weeks_takes_no_more_room_than_one_of_hours() {
        let mut marks = LateMarks::with_room(1);
        (0..100_000).for_each(|number| marks.add_block(&block(10 * number, 10 * number + 5, &[])));
        let intervals = marks.intervals();
        assert!(intervals.len() < MOST_INTERVALS && intervals[0].0 == 0, "{}", intervals.len());
        assert_eq!(intervals.last().unwrap().1, 999_995);
    }

    #[test]
    fn of_very_many_conditions_nothing_is_kept() {
        assert_eq!([1, 100, 1_000, 10_000].map(|all| LateMarks::with_room(all).room), [2_000, 200, 0, 0]);
        let mut none = LateMarks::with_room(10_000);
        none.add_block(&block(0, 10, &[(3, 50)]));
        assert!(none.largest_first().is_empty() && none.intervals().is_empty());
    }
}
