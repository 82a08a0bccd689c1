//! When the latest wake-ups of a condition were, in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use howlate_model::{Block, Cause, CauseBlock, MonotonicTime, WakeupBreakdown};

/// Wake-ups kept of a condition, where there are few conditions; of ten as many each, of more their share.
const MOST: usize = 2_000;
const OF_ALL: usize = 10 * MOST;
/// Stretches that are told apart: a thread that is watched for weeks has a gap between any two blocks.
const STRETCHES: usize = 4_096;
/// Fewer would tell nothing.
const LEAST: usize = 50;
/// Causes told apart.
const CAUSES: usize = 256;

/// A late wake-up: how late, when it ran, in nanoseconds, and what took most of it, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LateMark {
    pub(super) late: i64,
    pub(super) ran: i64,
    pub(super) cause: Option<u16>,
}

/// The latest wake-ups, and when there could have been any.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateMarks {
    room: usize,
    /// The least late one first.
    kept: BinaryHeap<Reverse<LateMark>>,
    causes: Vec<Cause>,
    /// When was measured, in nanoseconds; what follows without a gap is one stretch.
    stretches: Vec<(i64, i64)>,
}

impl LateMarks {
    /// For one of as many conditions.
    pub(crate) fn with_room(conditions: usize) -> Self {
        let room = (OF_ALL / conditions.max(1)).min(MOST);
        Self { room: if room < LEAST { 0 } else { room }, ..Self::default() }
    }

    pub(crate) fn block(&mut self, block: &Block) {
        self.measured(block.from, block.until);
        block.worst.iter().for_each(|one| self.add(one.latency.as_nanos(), one.at, None));
    }

    pub(crate) fn why(&mut self, block: &CauseBlock) {
        if self.room == 0 {
            return;
        }
        self.measured(block.from, block.until);
        for one in block.ledger.worst() {
            let cause = self.cause(one);
            self.add(one.latency.as_nanos(), one.at, cause);
        }
    }

    fn measured(&mut self, from: MonotonicTime, until: MonotonicTime) {
        let (from, until) = (from.as_nanos(), until.as_nanos());
        match self.stretches.last_mut() {
            Some(last) if (last.0..=last.1).contains(&from) => last.1 = last.1.max(until),
            _ if self.room > 0 && until > from => self.stretches.push((from, until)),
            _ => {}
        }
        if self.stretches.len() >= STRETCHES {
            let pairs = self.stretches.chunks(2);
            self.stretches = pairs.map(|pair| (pair[0].0, pair[pair.len() - 1].1)).collect();
        }
    }

    fn add(&mut self, late: i64, ran: MonotonicTime, cause: Option<u16>) {
        let mark = LateMark { late, ran: ran.as_nanos(), cause };
        let is_full = self.kept.len() >= self.room;
        if is_full && self.kept.peek().is_none_or(|least| mark <= least.0) {
            return;
        }
        if is_full {
            self.kept.pop();
        }
        self.kept.push(Reverse(mark));
    }

    fn cause(&mut self, one: &WakeupBreakdown) -> Option<u16> {
        let most = one.by_cause().into_iter().max_by_key(|(part, _)| part.ns)?.0.cause;
        let known = self.causes.iter().position(|known| *known == most);
        let place = match known {
            Some(place) => place,
            None if self.causes.len() >= CAUSES => return None,
            None => {
                self.causes.push(most);
                self.causes.len() - 1
            }
        };
        u16::try_from(place).ok()
    }

    /// The cause with this place.
    pub(super) fn cause_at(&self, place: u16) -> Option<&Cause> {
        self.causes.get(usize::from(place))
    }

    /// The latest first; one that a tracer saw too is there once.
    pub(super) fn latest(&self) -> Vec<LateMark> {
        let mut all: Vec<LateMark> = self.kept.iter().map(|one| one.0).collect();
        all.sort_unstable_by_key(|one| (one.ran, Reverse(one.cause)));
        all.dedup_by_key(|one| one.ran);
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    /// When was measured, in order and without overlaps.
    pub(super) fn stretches(&self) -> Vec<(i64, i64)> {
        let mut all = self.stretches.clone();
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
        marks.block(&block(0, 10, &[(3, 50), (5, 7)]));
        marks.block(&block(10, 20, &[(12, 9)]));
        marks.block(&block(30, 40, &[(33, 8)]));
        assert_eq!(
            marks.latest().iter().map(|one| (one.ran, one.late)).collect::<Vec<_>>(),
            [(3, 50), (12, 9)]
        );
        assert_eq!(marks.stretches(), [(0, 20), (30, 40)]);
    }

    #[test]
    fn a_watch_of_weeks_takes_no_more_room_than_one_of_hours() {
        let mut marks = LateMarks::with_room(1);
        (0..100_000).for_each(|number| marks.block(&block(10 * number, 10 * number + 5, &[])));
        let stretches = marks.stretches();
        assert!(stretches.len() < STRETCHES && stretches[0].0 == 0, "{}", stretches.len());
        assert_eq!(stretches.last().unwrap().1, 999_995);
    }

    #[test]
    fn of_very_many_conditions_nothing_is_kept() {
        assert_eq!([1, 100, 1_000, 10_000].map(|all| LateMarks::with_room(all).room), [2_000, 200, 0, 0]);
        let mut none = LateMarks::with_room(10_000);
        none.block(&block(0, 10, &[(3, 50)]));
        assert!(none.latest().is_empty() && none.stretches().is_empty());
    }
}
