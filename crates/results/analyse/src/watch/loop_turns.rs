//! The iterations of a marked loop, joined with what a tracer saw of its thread.

use std::collections::VecDeque;

use howlate_model::{
    Activation, LoopIteration, MonotonicTime, Segment, Span, TracedSleep, WakeSource, Wakeup,
};

use super::Awakening;
use super::due::{DRIFT_STEPS, Due, Expected};
use super::iteration_parts::IterationParts;
use crate::cause::{PastSleep, TurnContext, decompose_turn};

/// An iteration waits at most this long for its traced sleeps, or for iterations to compare it with.
const SETTLE_TIMEOUT: Span = Span::from_secs(2);
/// Most sleeps stored while their iterations have not arrived.
const MOST_SLEEPS: usize = 16_384;

/// The iterations of one loop, in their order.
#[derive(Debug)]
pub struct LoopTurns {
    due: Due,
    has_phase: bool,
    traced: bool,
    waiting: VecDeque<LoopIteration>,
    sleeps: VecDeque<PastSleep>,
    /// The previous iteration, the last sleep that was over when it began, and those within its work.
    before: Option<LoopIteration>,
    slept: Vec<PastSleep>,
    /// Causes of its lateness.
    stall: Vec<Segment>,
}

/// An iteration with everything that will be known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedTurn {
    /// How late it was, and why; `None` where it is unknown when it was due.
    pub awakening: Option<Awakening>,
    pub woke: MonotonicTime,
    /// Length of its work, if the program reports its end.
    pub worked: Option<Span>,
    /// Whole periods before it without an iteration.
    pub missed: u64,
    /// Whether the time at which it was due follows from the loop's own rhythm, as the program does not say it.
    pub inferred: bool,
    /// What the work of the iteration before went to; `None` where its end or its thread's sleeps are not known.
    pub parts_before: Option<IterationParts>,
}

impl LoopTurns {
    /// `traced`: whether a tracer sees the loop's thread.
    pub fn new(period: Span, traced: bool) -> Self {
        Self {
            due: Due::every(period),
            has_phase: false,
            traced,
            waiting: VecDeque::new(),
            sleeps: VecDeque::new(),
            before: None,
            slept: Vec::new(),
            stall: Vec::new(),
        }
    }

    /// Takes the next iteration.
    pub fn record_turn(&mut self, turn: LoopIteration) {
        self.waiting.push_back(turn);
    }

    /// Takes the next sleep of its thread.
    pub fn record_sleep(&mut self, sleep: PastSleep) {
        if self.sleeps.len() == MOST_SLEEPS {
            self.sleeps.pop_front();
        }
        self.sleeps.push_back(sleep);
    }

    /// The iterations that are complete by `now`.
    pub fn settle(&mut self, now: MonotonicTime) -> Vec<CompletedTurn> {
        let mut settled = Vec::new();
        while let Some(turn) = self.waiting.front().copied() {
            let is_old = now.since(turn.woke) >= SETTLE_TIMEOUT;
            let is_known = self.can_compare() && self.is_complete(turn);
            if !is_known && !is_old {
                break;
            }
            settled.push(self.take(turn));
        }
        settled
    }

    /// The remaining iterations, when nothing more will come.
    pub fn end(&mut self) -> Vec<CompletedTurn> {
        let mut settled = Vec::new();
        while let Some(turn) = self.waiting.front().copied() {
            settled.push(self.take(turn));
        }
        settled
    }

    /// Whether there are enough iterations to know their phase.
    fn can_compare(&self) -> bool {
        self.has_phase || self.waiting.len() > DRIFT_STEPS
    }

    /// Whether all that belongs to `turn` has arrived: its thread went to sleep again after it.
    fn is_complete(&self, turn: LoopIteration) -> bool {
        let again = self.sleeps.back().and_then(|last| last.sleep.asleep_again);
        !self.traced || again.is_some_and(|again| again >= turn.woke)
    }

    fn take(&mut self, turn: LoopIteration) -> CompletedTurn {
        if !std::mem::replace(&mut self.has_phase, true) {
            self.due.learn(self.waiting.iter());
        }
        self.waiting.pop_front();
        let before = self.before.replace(turn);
        let own_sleeps = self.take_sleeps(before, turn);
        let parts_before = before.filter(|_| self.traced).and_then(|before| self.work_parts(before));
        let stated = turn.expected.or_else(|| own_sleeps.iter().rev().find_map(|past| timer(&past.sleep)));
        let following = self.waiting.front().map(|next| next.woke);
        let expected = self.due.next(turn, stated, following);
        let awakening = expected.map(|expected| {
            let wakeup = Wakeup { expected: expected.at, ran: turn.woke };
            let work = before.and_then(|before| work(before, &expected));
            self.explain(wakeup, work, &own_sleeps)
        });
        self.stall =
            awakening.as_ref().map_or_else(Vec::new, |awakening| sum_older(&awakening.parts.wakeup.parts));
        self.slept = own_sleeps.into_iter().last().or_else(|| self.slept.pop()).into_iter().collect();
        CompletedTurn {
            awakening,
            woke: turn.woke,
            worked: turn.done.map(|done| done.since(turn.woke)),
            missed: expected.map_or(0, |expected| expected.missed),
            inferred: expected.is_some_and(|expected| expected.inferred),
            parts_before,
        }
    }

    /// What the work of an iteration went to whose sleeps were just taken.
    fn work_parts(&self, turn: LoopIteration) -> Option<IterationParts> {
        let done = turn.done.filter(|done| *done > turn.woke)?;
        Some(IterationParts::between(&self.slept, &[], turn.woke, done))
    }

    /// The sleeps between the work of the iteration before and this one.
    fn take_sleeps(&mut self, before: Option<LoopIteration>, turn: LoopIteration) -> Vec<PastSleep> {
        let since = before.map(|before| before.done.unwrap_or(before.woke));
        while self.sleeps.front().is_some_and(|past| since.is_some_and(|since| past.sleep.waking <= since)) {
            self.slept.extend(self.sleeps.pop_front());
        }
        let own_count = self.sleeps.iter().take_while(|past| past.sleep.waking <= turn.woke).count();
        self.sleeps.drain(..own_count).collect()
    }

    fn explain(
        &self,
        wakeup: Wakeup,
        work: Option<(MonotonicTime, MonotonicTime)>,
        own_sleeps: &[PastSleep],
    ) -> Awakening {
        let slept = self.slept.as_slice();
        let awake =
            slept.last().and_then(|last| last.sleep.asleep_again).is_some_and(|again| again >= wakeup.ran);
        // Sleeps that ended before the iteration was due have no part in it.
        let is_past = |past_sleep: &&PastSleep| {
            past_sleep.sleep.asleep_again.is_some_and(|again| again <= wakeup.expected)
        };
        let skipped = own_sleeps.iter().take_while(is_past).count().min(own_sleeps.len().saturating_sub(1));
        let recent: Vec<TracedSleep> =
            own_sleeps[skipped..].iter().map(|past_sleep| past_sleep.sleep.clone()).collect();
        let parts = decompose_turn(wakeup, TurnContext { work, slept, awake, stall: &self.stall }, &recent);
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

/// Latest parts of a stall that stay separate. A loop that never catches up would otherwise have more with each iteration.
const SEPARATE_PARTS: usize = 4;

/// The parts of a stall; of too many, the older ones are summed by cause.
fn sum_older(parts: &[Segment]) -> Vec<Segment> {
    if parts.len() <= 2 * SEPARATE_PARTS {
        return parts.to_vec();
    }
    let (older, newer) = parts.split_at(parts.len() - SEPARATE_PARTS);
    let mut sums: Vec<Segment> = Vec::new();
    for part in older {
        match sums.iter_mut().find(|sum| sum.pid == part.pid && sum.cause == part.cause) {
            Some(sum) => sum.ns = sum.ns.plus(part.ns),
            None => sums.push(Segment { merged: true, ..part.clone() }),
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

/// Start and end of the work of iteration `before`, if the program reports its end. Work that was too long costs all of the
/// time up to the one that the program waits for then.
fn work(before: LoopIteration, next: &Expected) -> Option<(MonotonicTime, MonotonicTime)> {
    let done = before.done?;
    Some((before.woke, if done > next.at { done.max(next.waited_for) } else { done }))
}

/// The time that a timer was set to, if one ended the sleep.
fn timer(sleep: &TracedSleep) -> Option<MonotonicTime> {
    match &sleep.woken_by {
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

    /// A hundred iterations with a little work, and one of long work; the timer skips what has passed.
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

    /// The work of each iteration is longer than the period, for ever: each is late by all of the previous ones.
    #[test]
    fn a_loop_that_never_catches_up_has_no_more_parts_with_each_turn() {
        let mut turns = LoopTurns::new(Span::from_millis(1), false);
        let mut all = Vec::new();
        for number in 0..20_000 {
            let woke = number * (PERIOD + 101_000);
            let expected = Some(at(number * PERIOD));
            turns.record_turn(LoopIteration {
                expected,
                woke: at(woke),
                done: Some(at(woke + PERIOD + 100_000)),
            });
            all.extend(turns.settle(at(woke)));
        }
        all.extend(turns.end());
        assert_eq!(all.len(), 20_000);
        let last = &all[19_999].awakening.as_ref().unwrap().parts.wakeup;
        assert_eq!(last.latency.as_nanos(), 19_999 * 101_000);
        assert_eq!(last.parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), 19_999 * 101_000);
        assert!(last.parts.len() <= 2 * SEPARATE_PARTS + 4, "{}", last.parts.len());
        let worked = last.parts.iter().filter(|part| part.cause.kind == CauseKind::LongWork);
        assert!(worked.map(|part| part.ns.as_nanos()).sum::<u64>() > 19_999 * 99_000);
    }

    #[test]
    fn without_a_tracer_the_rhythm_tells_what_was_late_and_missed() {
        let mut turns = LoopTurns::new(Span::from_millis(1), false);
        program().into_iter().for_each(|(turn, _)| turns.record_turn(turn));
        let mut all = turns.settle(at(0));
        all.extend(turns.end());
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|turn| turn.inferred));
        assert_eq!(all.iter().map(|turn| turn.missed).sum::<u64>(), 2);
        let worked = all.iter().filter(|turn| turn.worked.unwrap() > Span::from_millis(1)).count();
        assert_eq!(worked, 1);
    }

    #[test]
    fn with_a_tracer_turns_are_late_from_their_timers_time() {
        let mut turns = LoopTurns::new(Span::from_millis(1), true);
        let mut all = Vec::new();
        for (turn, slept) in program() {
            turns.record_turn(turn);
            let early = turns.settle(turn.woke);
            assert!(early.iter().all(|completed| completed.woke < turn.woke), "its sleep is not told yet");
            all.extend(early);
            turns.record_sleep(PastSleep::from_sleep(slept));
            all.extend(turns.settle(turn.woke));
        }
        all.extend(turns.end());
        assert_eq!(all.len(), 100);
        for completed in &all {
            let awakening = completed.awakening.as_ref().unwrap();
            assert!(!completed.inferred);
            // After long work, the turn is late for the first that it left out.
            let late = if completed.missed > 0 { 2_005_000 } else { 5_000 };
            assert_eq!(awakening.wakeup.latency().as_nanos(), late);
            let parts = &awakening.parts.wakeup.parts;
            let last = parts.last().map(|part| (part.cause.part, part.ns.as_nanos()));
            assert_eq!(last, Some((Part::Return, 1_000)), "up to the program's own reading");
        }
        assert_eq!(all.iter().map(|completed| completed.missed).sum::<u64>(), 2);
    }

    #[test]
    fn a_turn_that_followed_long_work_at_once_is_late_by_that() {
        let mut turns = LoopTurns::new(Span::from_millis(1), true);
        let turn = |woke, done| LoopIteration { expected: None, woke: at(woke), done: Some(at(done)) };
        let mut slept = by_timer(7, 1_000_000, 1_004_000);
        slept.asleep_again = Some(at(3_600_000));
        // The second begins without a sleep, 500 ns after the first is done.
        [turn(1_005_000, 3_500_000), turn(3_500_500, 3_550_000)]
            .into_iter()
            .for_each(|turn| turns.record_turn(turn));
        turns.record_sleep(PastSleep::from_sleep(slept));
        let all = turns.end();
        let second = all[1].awakening.as_ref().unwrap();
        assert_eq!(second.wakeup.expected, at(2_000_000));
        let kinds: Vec<_> =
            second.parts.wakeup.parts.iter().map(|part| (part.cause.kind, part.ns.as_nanos())).collect();
        assert_eq!(kinds, [(CauseKind::LongWork, 1_500_000), (CauseKind::LateArming, 500)]);
    }

    // 1000   2000   3000   4000   5000   6000   7000
    // |------|------|------|------|------|------|
    // x      ^ the loop's timer for 2000 is served only at 5000, when a hog lets it run; then four iterations follow at once
    #[test]
    fn turns_that_catch_up_are_late_by_the_stall_and_not_by_themselves() {
        let mut turns = LoopTurns::new(Span::from_millis(1), true);
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
        turns.record_turn(turn(1_000_000, 1_005_000));
        let caught_up = [(2, 5_005_000), (3, 5_020_000), (4, 5_040_000), (5, 5_060_000)];
        caught_up.iter().for_each(|(due, woke)| turns.record_turn(turn(due * PERIOD, *woke)));
        first.into_iter().for_each(|sleep| turns.record_sleep(PastSleep::from_sleep(sleep)));
        let all = turns.end();
        let whole = |turn: &CompletedTurn| turn.awakening.clone().unwrap().parts.wakeup;
        let own = |turn: &CompletedTurn| -> u64 {
            let parts = whole(turn).parts.into_iter();
            let arming = parts.filter(|part| part.cause.kind == CauseKind::LateArming);
            arming.map(|part| part.ns.as_nanos()).sum()
        };
        assert_eq!(whole(&all[2]).latency.as_nanos(), 2_020_000);
        for turn in &all[2..] {
            assert!(own(turn) <= 40_000, "{:?}", whole(turn));
        }
    }

    #[test]
    fn nothing_waits_for_ever() {
        let mut turns = LoopTurns::new(Span::from_millis(1), true);
        turns.record_turn(LoopIteration { expected: None, woke: at(0), done: None });
        assert_eq!(turns.settle(at(1_000)).len(), 0);
        assert_eq!(turns.settle(at(3_000_000_000)).len(), 1);
    }
}
