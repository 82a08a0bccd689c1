//! The turns of a marked loop, joined with what a tracer saw of its thread.

use std::collections::VecDeque;

use howlate_model::{
    Activation, LoopIteration, MonotonicTime, Segment, Span, TracedSleep, WakeSource, Wakeup,
};

use super::Awakening;
use super::due::{Due, Expected, TELLING};
use crate::cause::{Beforehand, PastSleep, turn};

/// No turn waits longer than this for what a tracer saw of it, or for turns to compare it with.
const PATIENCE: Span = Span::from_secs(2);
/// Sleeps that are kept while the turns that they belong to have not arrived.
const KEPT: usize = 16_384;

/// The turns of one loop, in their order.
#[derive(Debug)]
pub struct Turns {
    due: Due,
    has_learnt: bool,
    traced: bool,
    waiting: VecDeque<LoopIteration>,
    seen: VecDeque<PastSleep>,
    /// The turn before, the last sleep that was over when it began, and those within its work.
    before: Option<LoopIteration>,
    slept: Vec<PastSleep>,
    /// What made it late.
    stall: Vec<Segment>,
}

/// A turn of which all is known that will be.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedTurn {
    /// How late it was, and why; `None` where nobody knows when it was to begin.
    pub awakening: Option<Awakening>,
    /// When it began.
    pub woke: MonotonicTime,
    /// How long its work took, where the program said so.
    pub worked: Option<Span>,
    /// Whole periods before it in which there was no turn.
    pub missed: u64,
    /// Whether nobody said when it was to begin, so that it follows from the loop's own rhythm.
    pub inferred: bool,
}

impl Turns {
    /// Of a loop with this period; `traced`: whether a tracer sees its thread.
    pub fn new(period: Span, traced: bool) -> Self {
        Self {
            due: Due::every(period),
            has_learnt: false,
            traced,
            waiting: VecDeque::new(),
            seen: VecDeque::new(),
            before: None,
            slept: Vec::new(),
            stall: Vec::new(),
        }
    }

    /// Takes the next turn.
    pub fn turned(&mut self, turn: LoopIteration) {
        self.waiting.push_back(turn);
    }

    /// Takes the next sleep of its thread.
    pub fn saw(&mut self, one: PastSleep) {
        if self.seen.len() == KEPT {
            self.seen.pop_front();
        }
        self.seen.push_back(one);
    }

    /// The turns that are known by now.
    pub fn settle(&mut self, now: MonotonicTime) -> Vec<CompletedTurn> {
        let mut settled = Vec::new();
        while let Some(turn) = self.waiting.front().copied() {
            let is_old = now.since(turn.woke) >= PATIENCE;
            let is_known = self.can_compare() && self.is_complete(turn);
            if !is_known && !is_old {
                break;
            }
            settled.push(self.take(turn));
        }
        settled
    }

    /// Those that are left: nothing more will come.
    pub fn end(&mut self) -> Vec<CompletedTurn> {
        let mut settled = Vec::new();
        while let Some(turn) = self.waiting.front().copied() {
            settled.push(self.take(turn));
        }
        settled
    }

    /// Whether there are enough turns to see how they lie.
    fn can_compare(&self) -> bool {
        self.has_learnt || self.waiting.len() > TELLING
    }

    /// Whether all that belongs to `turn` has come: its thread went to sleep again after it.
    fn is_complete(&self, turn: LoopIteration) -> bool {
        let again = self.seen.back().and_then(|last| last.sleep.asleep_again);
        !self.traced || again.is_some_and(|again| again >= turn.woke)
    }

    fn take(&mut self, turn: LoopIteration) -> CompletedTurn {
        if !std::mem::replace(&mut self.has_learnt, true) {
            self.due.learn(self.waiting.iter());
        }
        self.waiting.pop_front();
        let before = self.before.replace(turn);
        let mine = self.sleeps(before, turn);
        let told = turn.expected.or_else(|| mine.iter().rev().find_map(|one| timer(&one.sleep)));
        let following = self.waiting.front().map(|next| next.woke);
        let expected = self.due.next(turn, told, following);
        let awakening = expected.map(|expected| {
            let wakeup = Wakeup { expected: expected.at, ran: turn.woke };
            let work = before.and_then(|before| work(before, &expected));
            self.explain(wakeup, work, &mine)
        });
        self.stall = awakening.as_ref().map_or_else(Vec::new, |one| added_up(&one.parts.wakeup.parts));
        self.slept = mine.into_iter().last().or_else(|| self.slept.pop()).into_iter().collect();
        CompletedTurn {
            awakening,
            woke: turn.woke,
            worked: turn.done.map(|done| done.since(turn.woke)),
            missed: expected.map_or(0, |expected| expected.missed),
            inferred: expected.is_some_and(|expected| expected.inferred),
        }
    }

    /// The sleeps between the work of the iteration before and this one.
    fn sleeps(&mut self, before: Option<LoopIteration>, turn: LoopIteration) -> Vec<PastSleep> {
        let since = before.map(|before| before.done.unwrap_or(before.woke));
        while self.seen.front().is_some_and(|one| since.is_some_and(|since| one.sleep.waking <= since)) {
            self.slept.extend(self.seen.pop_front());
        }
        let mine = self.seen.iter().take_while(|one| one.sleep.waking <= turn.woke).count();
        self.seen.drain(..mine).collect()
    }

    fn explain(
        &self,
        wakeup: Wakeup,
        work: Option<(MonotonicTime, MonotonicTime)>,
        mine: &[PastSleep],
    ) -> Awakening {
        let slept = self.slept.as_slice();
        let awake =
            slept.last().and_then(|last| last.sleep.asleep_again).is_some_and(|again| again >= wakeup.ran);
        // Sleeps that ended before the time asked for have no part in it.
        let is_past = |one: &&PastSleep| one.sleep.asleep_again.is_some_and(|again| again <= wakeup.expected);
        let past = mine.iter().take_while(is_past).count().min(mine.len().saturating_sub(1));
        let seen: Vec<TracedSleep> = mine[past..].iter().map(|one| one.sleep.clone()).collect();
        let parts = turn(wakeup, Beforehand { work, slept, awake, stall: &self.stall }, &seen);
        Awakening {
            activation: Activation::Loop,
            by: None,
            through: Vec::new(),
            sleeps_by_call: true,
            wakeup,
            parts,
        }
    }
}

/// Parts of a stall that are told one by one. A loop that never catches up would have more with each turn.
const PARTS: usize = 4;

/// The parts of a stall; of too many, those that are older are added up, one of each cause.
fn added_up(parts: &[Segment]) -> Vec<Segment> {
    if parts.len() <= 2 * PARTS {
        return parts.to_vec();
    }
    let (older, newer) = parts.split_at(parts.len() - PARTS);
    let mut sums: Vec<Segment> = Vec::new();
    for one in older {
        match sums.iter_mut().find(|sum| sum.pid == one.pid && sum.cause == one.cause) {
            Some(sum) => sum.ns = sum.ns.plus(one.ns),
            None => sums.push(Segment { merged: true, ..one.clone() }),
        }
    }
    let mut from = older[0].from;
    for sum in &mut sums {
        sum.from = from;
        from = from.plus(sum.ns);
    }
    sums.extend_from_slice(newer);
    sums
}

/// From when to when the turn `before` worked, where the program said so. Work that was too long costs all of the time up to
/// that for which the program waits then.
fn work(before: LoopIteration, next: &Expected) -> Option<(MonotonicTime, MonotonicTime)> {
    let done = before.done?;
    Some((before.woke, if done > next.at { done.max(next.waited_for) } else { done }))
}

/// The time that a timer was set to, if that ended the sleep.
fn timer(one: &TracedSleep) -> Option<MonotonicTime> {
    match &one.woken_by {
        WakeSource::Timer(expiry) => Some(expiry.soft),
        WakeSource::Other(_) | WakeSource::NotSeen { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::thread::testing::{at, by_timer};
    use howlate_model::{CauseKind, Part};

    const PERIOD: i64 = 1_000_000;

    /// A hundred turns with a little work, and one of long work; the timer leaves out what went by.
    fn program() -> Vec<(LoopIteration, TracedSleep)> {
        let mut turns = Vec::new();
        let mut due = PERIOD;
        for number in 0..100 {
            let (woke, work) = (due + 5_000, if number == 50 { 2_500_000 } else { 100_000 });
            let turn = LoopIteration { expected: None, woke: at(woke), done: Some(at(woke + work)) };
            let again = woke + work + 3_000;
            let slept = TracedSleep {
                asleep_since: Some(at(due - 500_000)),
                asleep_again: Some(at(again)),
                ..by_timer(7, due, woke - 1_000)
            };
            turns.push((turn, slept));
            due += PERIOD;
            while due < again {
                due += PERIOD;
            }
        }
        turns
    }

    /// The work of each turn is longer than the period, for ever: each is late by all that was before.
    #[test]
    fn a_loop_that_never_catches_up_has_no_more_parts_with_each_turn() {
        let mut turns = Turns::new(Span::from_millis(1), false);
        let mut all = Vec::new();
        for number in 0..20_000 {
            let woke = number * (PERIOD + 101_000);
            let expected = Some(at(number * PERIOD));
            turns.turned(LoopIteration { expected, woke: at(woke), done: Some(at(woke + PERIOD + 100_000)) });
            all.extend(turns.settle(at(woke)));
        }
        all.extend(turns.end());
        assert_eq!(all.len(), 20_000);
        let last = &all[19_999].awakening.as_ref().unwrap().parts.wakeup;
        assert_eq!(last.latency.as_nanos(), 19_999 * 101_000);
        assert_eq!(last.parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), 19_999 * 101_000);
        assert!(last.parts.len() <= 2 * PARTS + 4, "{}", last.parts.len());
        let worked = last.parts.iter().filter(|part| part.cause.kind == CauseKind::LongWork);
        assert!(worked.map(|part| part.ns.as_nanos()).sum::<u64>() > 19_999 * 99_000);
    }

    #[test]
    fn without_a_tracer_the_rhythm_tells_what_was_late_and_missed() {
        let mut turns = Turns::new(Span::from_millis(1), false);
        program().into_iter().for_each(|(turn, _)| turns.turned(turn));
        let mut all = turns.settle(at(0));
        all.extend(turns.end());
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|one| one.inferred));
        assert_eq!(all.iter().map(|one| one.missed).sum::<u64>(), 2);
        let worked = all.iter().filter(|one| one.worked.unwrap() > Span::from_millis(1)).count();
        assert_eq!(worked, 1);
    }

    #[test]
    fn with_a_tracer_turns_are_late_from_their_timers_time() {
        let mut turns = Turns::new(Span::from_millis(1), true);
        let mut all = Vec::new();
        for (turn, slept) in program() {
            turns.turned(turn);
            let early = turns.settle(turn.woke);
            assert!(early.iter().all(|one| one.woke < turn.woke), "its sleep is not told yet");
            all.extend(early);
            turns.saw(PastSleep::from_sleep(slept));
            all.extend(turns.settle(turn.woke));
        }
        all.extend(turns.end());
        assert_eq!(all.len(), 100);
        for one in &all {
            let awakening = one.awakening.as_ref().unwrap();
            assert!(!one.inferred);
            // After long work, the turn is late for the first that it left out.
            let late = if one.missed > 0 { 2_005_000 } else { 5_000 };
            assert_eq!(awakening.wakeup.latency().as_nanos(), late);
            let parts = &awakening.parts.wakeup.parts;
            let last = parts.last().map(|part| (part.cause.part, part.ns.as_nanos()));
            assert_eq!(last, Some((Part::Return, 1_000)), "up to the program's own reading");
        }
        assert_eq!(all.iter().map(|one| one.missed).sum::<u64>(), 2);
    }

    #[test]
    fn a_turn_that_followed_long_work_at_once_is_late_by_that() {
        let mut turns = Turns::new(Span::from_millis(1), true);
        let turn = |woke, done| LoopIteration { expected: None, woke: at(woke), done: Some(at(done)) };
        let mut slept = by_timer(7, 1_000_000, 1_004_000);
        slept.asleep_again = Some(at(3_600_000));
        // The second begins without a sleep, 500 ns after the first is done.
        [turn(1_005_000, 3_500_000), turn(3_500_500, 3_550_000)]
            .into_iter()
            .for_each(|one| turns.turned(one));
        turns.saw(PastSleep::from_sleep(slept));
        let all = turns.end();
        let second = all[1].awakening.as_ref().unwrap();
        assert_eq!(second.wakeup.expected, at(2_000_000));
        let kinds: Vec<_> =
            second.parts.wakeup.parts.iter().map(|part| (part.cause.kind, part.ns.as_nanos())).collect();
        assert_eq!(kinds, [(CauseKind::LongWork, 1_500_000), (CauseKind::LateArming, 500)]);
    }

    // 1000   2000   3000   4000   5000   6000   7000
    // |------|------|------|------|------|------|
    // x      ^ the loop's timer for 2000 is served only at 5000, when a hog lets it run; then four turns follow at once
    #[test]
    fn turns_that_catch_up_are_late_by_the_stall_and_not_by_themselves() {
        let mut turns = Turns::new(Span::from_millis(1), true);
        let turn = |due: i64, woke: i64| LoopIteration {
            expected: Some(at(due)),
            woke: at(woke),
            done: Some(at(woke + 10_000)),
        };
        let sleep = |due: i64, runs: i64, again: i64| TracedSleep {
            asleep_since: Some(at(due - 500_000)),
            asleep_again: Some(at(again)),
            switched_in: Some(at(runs)),
            ..by_timer(7, due, runs)
        };
        let first = [sleep(1_000_000, 1_002_000, 1_020_000), sleep(2_000_000, 5_000_000, 5_100_000)];
        turns.turned(turn(1_000_000, 1_005_000));
        let caught_up = [(2, 5_005_000), (3, 5_020_000), (4, 5_040_000), (5, 5_060_000)];
        caught_up.iter().for_each(|(due, woke)| turns.turned(turn(due * PERIOD, *woke)));
        first.into_iter().for_each(|one| turns.saw(PastSleep::from_sleep(one)));
        let all = turns.end();
        let whole = |one: &CompletedTurn| one.awakening.clone().unwrap().parts.wakeup;
        let own = |one: &CompletedTurn| -> u64 {
            let parts = whole(one).parts.into_iter();
            let arming = parts.filter(|part| part.cause.kind == CauseKind::LateArming);
            arming.map(|part| part.ns.as_nanos()).sum()
        };
        assert_eq!(whole(&all[2]).latency.as_nanos(), 2_020_000);
        for one in &all[2..] {
            assert!(own(one) <= 40_000, "{:?}", whole(one));
        }
    }

    #[test]
    fn nothing_waits_for_ever() {
        let mut turns = Turns::new(Span::from_millis(1), true);
        turns.turned(LoopIteration { expected: None, woke: at(0), done: None });
        assert_eq!(turns.settle(at(1_000)).len(), 0);
        assert_eq!(turns.settle(at(3_000_000_000)).len(), 1);
    }
}
