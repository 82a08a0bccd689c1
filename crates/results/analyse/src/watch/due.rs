//! When the iterations of a marked loop were due, if the program does not say so.
//!
//! A loop with a strict rhythm has one iteration per period. Its phase is taken from the iterations that came earliest, so a
//! lateness common to all of them stays invisible. A loop that sleeps for a length (its period, or what its work has left of
//! it) drifts: its iterations are always further apart than the period.

use std::collections::VecDeque;

use howlate_model::{LoopIteration, MonotonicTime, Span};

/// This many steps in a row longer than the period mean drift: in a strict rhythm, a late iteration is followed by a shorter step.
pub(super) const DRIFT_STEPS: usize = 16;
/// The earliest of this many iterations in a row counts as on time.
const RECENT: usize = 64;

/// The phase of a loop.
#[derive(Debug, Default)]
pub(super) struct Due {
    period: Span,
    /// When the previous iteration was due, and its record.
    before: Option<(MonotonicTime, LoopIteration)>,
    /// Steps in a row that were longer than the period, and sleeps in a row.
    long_steps: usize,
    long_sleeps: usize,
    /// Periods that passed while the previous iteration was late: skipped, or still to be caught up with.
    owed: u64,
    recent: VecDeque<Span>,
}

/// When an iteration was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) at: MonotonicTime,
    /// The time that its program waited for: later than `at` if the previous iteration worked too long.
    pub(super) waited_for: MonotonicTime,
    /// Whole periods before it without an iteration.
    pub(super) missed: u64,
    /// Whether the time follows from the rhythm, as the program does not say it.
    pub(super) inferred: bool,
}

impl Due {
    pub(super) fn every(period: Span) -> Self {
        Self { period, ..Self::default() }
    }

    /// Learns the phase from the first iterations, so that it is known from the first one on.
    pub(super) fn learn<'a>(&mut self, turns: impl Iterator<Item = &'a LoopIteration>) {
        let mut before: Option<&LoopIteration> = None;
        for turn in turns {
            before.replace(turn).into_iter().for_each(|before| self.step(before, turn));
        }
    }

    /// Takes the next iteration; `expected` is when it was due, if the program or its timer says so, and `following` when the one
    /// after it began. `None` without a period.
    pub(super) fn next(
        &mut self,
        turn: LoopIteration,
        stated: Option<MonotonicTime>,
        following: Option<MonotonicTime>,
    ) -> Option<Expected> {
        if let Some((_, before)) = self.before {
            self.step(&before, &turn);
        }
        let expected = match stated {
            Some(at) => self.expected_for(at),
            None => self.infer(turn, following).filter(|_| !self.period.is_zero())?,
        };
        let from = if stated.is_some() { expected.waited_for } else { expected.at };
        self.owed = self.periods(turn.woke.since(from));
        self.before = Some((from, turn));
        Some(expected)
    }

    /// A thread still at work when an iteration was due, which then waits for a later time, is late for the first one skipped.
    fn expected_for(&self, at: MonotonicTime) -> Expected {
        let stated = Expected { at, waited_for: at, missed: 0, inferred: false };
        let Some((before, last)) = self.before else { return stated };
        let half = Span::from_nanos(self.period.as_nanos() / 2);
        let missed = self.periods(at.since(before).plus(half)).saturating_sub(1);
        let due = before.plus(self.period);
        let was_at_work = last.done.is_some_and(|done| done > due);
        Expected { at: if missed > 0 && was_at_work { due } else { at }, missed, ..stated }
    }

    /// Whole periods within a length.
    fn periods(&self, length: Span) -> u64 {
        length.as_nanos().checked_div(self.period.as_nanos()).unwrap_or(0)
    }

    fn step(&mut self, before: &LoopIteration, turn: &LoopIteration) {
        let count = |count_before: usize, is_long: bool| if is_long { count_before + 1 } else { 0 };
        self.long_steps = count(self.long_steps, turn.woke.since(before.woke) > self.period);
        let slept = before.done.map(|done| turn.woke.since(done));
        self.long_sleeps = count(self.long_sleeps, slept.is_some_and(|slept| slept > self.period));
    }

    fn infer(&mut self, turn: LoopIteration, following: Option<MonotonicTime>) -> Option<Expected> {
        let Some((before, last)) = self.before else { return Some(self.inferred(turn.woke, turn, 0)) };
        if self.long_steps >= DRIFT_STEPS {
            let from = last.done.filter(|_| self.long_sleeps >= DRIFT_STEPS).unwrap_or(last.woke);
            return Some(self.inferred(from.plus(self.period), turn, 0));
        }
        let next = before.plus(self.period);
        let missed = self.skipped(next, turn.woke, following);
        let at = next.plus(self.period.times(missed));
        let on_time = common_lateness(&mut self.recent, turn.woke.since(at));
        Some(self.inferred(at.plus(on_time), turn, missed))
    }

    fn inferred(&self, at: MonotonicTime, turn: LoopIteration, missed: u64) -> Expected {
        let at = at.min(turn.woke);
        let waited_for = at.plus(self.period.times(self.periods(turn.woke.since(at))));
        Expected { at, waited_for, missed, inferred: true }
    }

    /// How many of the owed periods an iteration has skipped, unless it is the one due `next`. A loop that skips none runs the
    /// following iteration before the time that would be due next.
    fn skipped(&self, next: MonotonicTime, woke: MonotonicTime, following: Option<MonotonicTime>) -> u64 {
        let skipped = self.periods(woke.since(next)).min(self.owed);
        let after = next.plus(self.period.times(skipped + 1));
        if following.is_none_or(|following| following >= after) { skipped } else { 0 }
    }
}

/// How late even the earliest of the recent iterations was, including this one; that offset is taken out of `recent`.
fn common_lateness(recent: &mut VecDeque<Span>, late: Span) -> Span {
    recent.push_back(late);
    if recent.len() <= RECENT {
        return Span::ZERO;
    }
    recent.pop_front();
    let least = recent.iter().min().copied().unwrap_or(Span::ZERO);
    recent.iter_mut().for_each(|lateness| *lateness = lateness.minus(least));
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(woke: i64, done: i64) -> LoopIteration {
        let at = MonotonicTime::from_nanos;
        LoopIteration { expected: None, woke: at(woke), done: Some(at(done)) }
    }

    /// Lateness and missed periods of each iteration, with a period of 1000.
    fn lateness_and_missed(turns: &[(i64, i64)]) -> Vec<(u64, u64)> {
        let turns: Vec<LoopIteration> = turns.iter().map(|(woke, done)| turn(*woke, *done)).collect();
        let mut due = Due::every(Span::from_nanos(1_000));
        due.learn(turns.iter());
        let judge = |number: usize| {
            let following = turns.get(number + 1).map(|turn| turn.woke);
            let expected = due.next(turns[number], None, following).unwrap();
            (turns[number].woke.since(expected.at).as_nanos(), expected.missed)
        };
        (0..turns.len()).map(judge).collect()
    }

    // 0     1000  2000  3000  4000  5000
    // |-----|-----|-----|-----|-----|
    // x     xxxxxxxxxxxxxxx^  x     x       the turn due at 2000 comes at 3500, and the one due at 3000 is skipped
    #[test]
    fn a_rhythm_goes_on_after_long_work() {
        let found =
            lateness_and_missed(&[(0, 100), (1_000, 3_490), (3_500, 3_600), (4_010, 4_100), (5_000, 5_100)]);
        assert_eq!(found, [(0, 0), (0, 0), (1_500, 0), (10, 1), (0, 0)]);
    }

    // as above, but every iteration is caught up with
    #[test]
    fn turns_that_are_caught_up_with_were_not_missed() {
        let found =
            lateness_and_missed(&[(0, 100), (1_000, 3_490), (3_500, 3_550), (3_560, 3_600), (4_005, 4_100)]);
        assert_eq!(found, [(0, 0), (0, 0), (1_500, 0), (560, 0), (5, 0)]);
    }

    // 0     1000  2000  3000  4000  5000  6000
    // |-----|-----|-----|-----|-----|-----|
    // x                          x  ^ at once, for the one due at 4000; then as before
    #[test]
    fn a_loop_that_leaves_out_what_went_by_may_still_be_late_for_the_last_of_it() {
        let found =
            lateness_and_missed(&[(0, 100), (4_700, 4_750), (4_760, 4_800), (5_000, 5_100), (6_000, 6_100)]);
        assert_eq!(found, [(0, 0), (3_700, 0), (760, 2), (0, 0), (0, 0)]);
    }

    #[test]
    fn a_turn_that_comes_early_shows_where_the_rhythm_lies() {
        assert_eq!(
            lateness_and_missed(&[(80, 90), (1_000, 1_010), (2_030, 2_040)]),
            [(0, 0), (0, 0), (30, 0)]
        );
    }

    #[test]
    fn a_rhythm_that_was_mistaken_is_found_again() {
        let early = [(0, 10)]
            .into_iter()
            .chain((1..100).map(|turn| (turn * 1_000 + 500 + turn % 3, turn * 1_000 + 600)));
        let late = lateness_and_missed(&early.collect::<Vec<_>>());
        assert_eq!(late[40].0, 501);
        assert!(late[80].0 <= 2, "{:?}", late[80]);
    }

    #[test]
    fn a_loop_that_sleeps_for_its_period_is_late_by_what_it_slept_longer() {
        // Works for 200, sleeps for 1000 and a little.
        let turns: Vec<(i64, i64)> = (0..40).map(|turn| (turn * 1_207, turn * 1_207 + 200)).collect();
        assert_eq!(lateness_and_missed(&turns)[1..], [(7, 0); 39]);
        // Sleeps for what its work has left.
        let turns: Vec<(i64, i64)> = (0..40).map(|turn| (turn * 1_007, turn * 1_007 + 200)).collect();
        assert_eq!(lateness_and_missed(&turns)[1..], [(7, 0); 39]);
    }

    // 0     1000  2000  3000  4000
    // |-----|-----|-----|-----|
    // x      xxxxxxxxxxxx     ^ waits for 4000, because it was at work when 2000 and 3000 came
    #[test]
    fn who_waits_for_a_later_time_after_long_work_is_late_for_the_first() {
        let at = MonotonicTime::from_nanos;
        let mut due = Due::every(Span::from_nanos(1_000));
        due.next(turn(1_005, 3_100), Some(at(1_000)), None);
        let expected = due.next(turn(4_005, 4_100), Some(at(4_000)), None).unwrap();
        let right = Expected { at: at(2_000), waited_for: at(4_000), missed: 2, inferred: false };
        assert_eq!(expected, right);
        let expected = due.next(turn(5_005, 5_100), Some(at(5_000)), None).unwrap();
        assert_eq!((expected.at, expected.missed), (at(5_000), 0));
    }

    #[test]
    fn what_is_told_is_believed() {
        let mut due = Due::every(Span::from_nanos(1_000));
        let at = MonotonicTime::from_nanos;
        due.next(turn(5, 10), Some(at(0)), None);
        let expected = due.next(turn(3_005, 3_010), Some(at(3_000)), None).unwrap();
        let right = Expected { at: at(3_000), waited_for: at(3_000), missed: 2, inferred: false };
        assert_eq!(expected, right, "it left them out of its own will");
        assert_eq!(Due::default().next(turn(5, 6), None, None), None, "it has no period");
        assert!(Due::default().next(turn(5, 6), Some(at(4)), None).is_some());
    }
}
