//! What iterations of loops went to, part by part.

use std::collections::VecDeque;
use std::mem::take;

use howlate_model::{
    Distribution, Latency, Ledger, MonotonicTime, Segment, Span, UndecomposedReason, WakeupBreakdown,
};

use crate::cause::{PastSleep, work_parts};

/// An iteration waits at most this long for the records of its thread's sleeps.
const PATIENCE: Span = Span::from_secs(2);
/// Most iterations of a thread that wait.
const MOST_ITERATIONS: usize = 65_536;
/// After so many lengths it is computed again how long the longest tenth is.
const LENGTHS_PER_LOOK: u64 = 1_024;

/// Of many iterations or requests, only the longest tenth is decomposed.
#[derive(Debug, Default)]
pub(super) struct LongestTenth {
    lengths: Distribution,
    /// Below that a length is not among them.
    least: Span,
}

impl LongestTenth {
    pub(super) fn record(&mut self, length: Span) {
        self.lengths.record(Latency::from_span(length));
        if self.lengths.count().is_multiple_of(LENGTHS_PER_LOOK) {
            let least = self.lengths.quantile(0.9).unwrap_or_default();
            self.least = Span::from_nanos(least.as_nanos().max(0).unsigned_abs());
        }
    }

    pub(super) fn has(&self, length: Span) -> bool {
        length >= self.least
    }
}

/// What an iteration went to.
#[derive(Clone, Debug, PartialEq)]
pub enum IterationParts {
    /// Part by part; its length stands for the latency.
    Known(WakeupBreakdown),
    /// How long it took. Not all of its thread's sleeps were recorded.
    NotSeen(Latency),
}

impl IterationParts {
    /// Of a thread with the sleeps `past`, from `from` until `until`; `before` are the parts that lead up to that.
    pub(super) fn between(
        past: &[PastSleep],
        before: &[Segment],
        from: MonotonicTime,
        until: MonotonicTime,
    ) -> Self {
        let began = before.first().map_or(from, |part| part.from);
        let latency = Latency::from_span(until.since(began));
        match work_parts(past, from, until) {
            Some(parts) => {
                let parts = before.iter().cloned().chain(parts).collect();
                Self::Known(WakeupBreakdown { at: until, latency, cpu: None, parts })
            }
            None => Self::NotSeen(latency),
        }
    }

    /// Counts it among those of its loop.
    pub(super) fn count_in(&self, ledger: &mut Ledger) {
        match self {
            Self::Known(parts) => ledger.add(parts),
            Self::NotSeen(length) => ledger.add_undecomposed(*length, UndecomposedReason::NotSeen),
        }
    }
}

/// The iterations of one event loop, whose sleeps may not be recorded yet, and what they went to.
#[derive(Debug, Default)]
pub struct LoopParts {
    iterations: VecDeque<(MonotonicTime, MonotonicTime)>,
    sleeps: VecDeque<PastSleep>,
    longest: LongestTenth,
    ledger: Ledger,
}

impl LoopParts {
    /// Takes the next sleep of the thread, for which there is `room`: beyond that, the oldest one is dropped.
    pub fn record_sleep(&mut self, past: &PastSleep, room: usize) {
        while self.sleeps.len() >= room.max(1) {
            self.sleeps.pop_front();
        }
        self.sleeps.push_back(past.clone());
        let recorded = past.sleep.asleep_again;
        self.count_while(|until| Some(until) <= recorded);
    }

    /// Takes the next iteration of the thread.
    pub fn record_iteration(&mut self, from: MonotonicTime, until: MonotonicTime) {
        self.longest.record(until.since(from));
        self.iterations.push_back((from, until));
        if self.iterations.len() > MOST_ITERATIONS
            && let Some(iteration) = self.iterations.pop_front()
        {
            self.count(iteration);
        }
    }

    /// What iterations went to since the last call, of those that are known by `now`, or will not be.
    pub fn take_ledger(&mut self, now: MonotonicTime) -> Ledger {
        self.count_while(|until| now.since(until) >= PATIENCE);
        take(&mut self.ledger)
    }

    /// Counts the first iterations, as long as the time at which they ended is one of those.
    fn count_while(&mut self, is_counted: impl Fn(MonotonicTime) -> bool) {
        while let Some(iteration) = self.iterations.front().copied().filter(|(_, until)| is_counted(*until)) {
            self.iterations.pop_front();
            self.count(iteration);
        }
    }

    fn count(&mut self, (from, until): (MonotonicTime, MonotonicTime)) {
        let is_over = |past: &PastSleep| past.sleep.asleep_again.is_some_and(|again| again <= from);
        while self.sleeps.front().is_some_and(is_over) {
            self.sleeps.pop_front();
        }
        let length = until.since(from);
        if !self.longest.has(length) {
            return self.ledger.add_undecomposed(Latency::from_span(length), UndecomposedReason::Short);
        }
        let begun = self.sleeps.iter().take_while(|past| past.sleep.asleep_since < Some(until)).count();
        let sleeps = &self.sleeps.make_contiguous()[..begun];
        IterationParts::between(sleeps, &[], from, until).count_in(&mut self.ledger);
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{CauseKind, CpuHolder, CpuLoss, HolderKind, Part, SleepSite, TracedSleep};

    use super::*;
    use crate::watch::thread::testing::{at, by_timer, woken};

    /// Asleep in a call for the first 100 ns, ready for 20, and at work until it sleeps again.
    fn sleep(since: i64, again: i64) -> PastSleep {
        let planner = CpuHolder { holder: HolderKind::Thread, pid: Some(9), name: "planner".to_owned() };
        PastSleep::from_sleep(TracedSleep {
            asleep_since: Some(at(since)),
            slept_in: Some(SleepSite::Call("read".to_owned())),
            asleep_again: Some(at(again)),
            ..woken(7, planner, since + 100, since + 120)
        })
    }

    fn shares(parts: &IterationParts) -> Vec<(Part, u64)> {
        let IterationParts::Known(breakdown) = parts else { return Vec::new() };
        let sum: u64 = breakdown.parts.iter().map(|part| part.ns.as_nanos()).sum();
        assert_eq!(i64::try_from(sum).unwrap(), breakdown.latency.as_nanos(), "{breakdown:?}");
        let of = |wanted: Part| {
            let of_part = breakdown.parts.iter().filter(|part| part.cause.part == wanted);
            (wanted, of_part.map(|part| part.ns.as_nanos()).sum())
        };
        [Part::AtWork, Part::Blocked].map(of).to_vec()
    }

    // 0      100     400    500     900
    // asleep woken   asleep woken   asleep
    //           200 .................... 850   the iteration
    #[test]
    fn an_iteration_waits_until_its_sleeps_are_recorded() {
        let mut of_loop = LoopParts::default();
        of_loop.record_iteration(at(200), at(850));
        of_loop.record_sleep(&sleep(0, 400), 8);
        assert!(of_loop.take_ledger(at(1_000)).is_empty());
        of_loop.record_sleep(&sleep(400, 900), 8);
        let ledger = of_loop.take_ledger(at(1_000));
        let parts = IterationParts::Known(ledger.worst()[0].clone());
        assert_eq!(shares(&parts), [(Part::AtWork, 530), (Part::Blocked, 100)], "{parts:?}");
        of_loop.record_iteration(at(860), at(890));
        of_loop.record_sleep(&sleep(900, 1_300), 8);
        let ledger = of_loop.take_ledger(at(1_000));
        let parts = IterationParts::Known(ledger.worst()[0].clone());
        assert_eq!(shares(&parts), [(Part::AtWork, 30), (Part::Blocked, 0)], "without a sleep: {parts:?}");
    }

    /// 8 and 9 had the CPU, of which 9 is a thread of the same program.
    #[test]
    fn threads_of_its_own_program_are_marked() {
        let lost_to = |pid: u32, from: i64| CpuLoss {
            from: at(from),
            until: at(from + 50),
            to: CpuHolder { holder: HolderKind::Thread, pid: Some(pid), name: "other".to_owned() },
            throttled: false,
            merged: false,
        };
        let PastSleep { sleep, .. } = sleep(0, 900);
        let sleep = TracedSleep { lost: vec![lost_to(8, 200), lost_to(9, 300)], ..sleep };
        let past = PastSleep::from_sleep(sleep).beside(vec![9]);
        let IterationParts::Known(breakdown) = IterationParts::between(&[past], &[], at(150), at(850)) else {
            panic!("all is recorded")
        };
        let threads = breakdown.parts.iter().filter(|part| part.cause.kind == CauseKind::Thread);
        let found: Vec<_> = threads.map(|part| (part.pid, part.cause.own)).collect();
        assert_eq!(found, [(Some(8), false), (Some(9), true)]);
    }

    #[test]
    fn of_an_iteration_with_a_gap_only_its_length_is_known() {
        let mut of_loop = LoopParts::default();
        of_loop.record_iteration(at(200), at(850));
        of_loop.record_sleep(&sleep(0, 400), 8);
        of_loop.record_sleep(&sleep(500, 900), 8);
        let ledger = of_loop.take_ledger(at(1_000));
        assert_eq!((ledger.decomposed, ledger.undecomposed()), (0, 1), "from 400 to 500 nothing is known");
        of_loop.record_iteration(at(950), at(1_950));
        assert!(of_loop.take_ledger(at(2_000)).is_empty(), "the record may come");
        let ledger = of_loop.take_ledger(at(1_950).plus(PATIENCE));
        assert_eq!(ledger.not_decomposed.get(&UndecomposedReason::NotSeen), Some(&1));
    }

    #[test]
    fn sleeps_beyond_the_room_are_dropped() {
        let mut of_loop = LoopParts::default();
        (0..9).for_each(|number| of_loop.record_sleep(&sleep(number * 400, number * 400 + 400), 3));
        assert_eq!(of_loop.sleeps.len(), 3);
        of_loop.record_iteration(at(2_200), at(2_300));
        of_loop.record_iteration(at(3_000), at(3_100));
        let ledger = of_loop.take_ledger(at(4_000).plus(PATIENCE));
        assert_eq!((ledger.decomposed, ledger.undecomposed()), (1, 1));
    }

    /// Each of 5 000 is counted, however long the others take to be recorded; one in a hundred is long.
    #[test]
    fn of_many_iterations_the_longest_are_decomposed_and_all_are_counted() {
        let mut of_loop = LoopParts::default();
        let length = |number: i64| if number % 100 == 99 { 900_000 } else { 300_000 };
        let mut since = 0;
        let mut all = Vec::new();
        for number in 0..5_000 {
            all.push((since, since + 120 + length(number)));
            since += 120 + length(number);
        }
        all.iter().for_each(|(since, again)| of_loop.record_iteration(at(since + 120), at(*again)));
        all.iter().for_each(|(since, again)| of_loop.record_sleep(&sleep(*since, *again), 64));
        let ledger = of_loop.take_ledger(at(since));
        let short = ledger.not_decomposed.get(&UndecomposedReason::Short).copied().unwrap_or(0);
        assert_eq!((ledger.decomposed + short, ledger.undecomposed()), (5_000, short));
        let slowest = ledger.slowest();
        let known: u64 = slowest.causes.values().map(|share| share.total).sum();
        assert_eq!((slowest.count, slowest.total, known), (50, 45_000_000, 45_000_000), "{slowest:?}");
        assert!(slowest.causes.keys().all(|cause| cause.part == Part::AtWork), "{slowest:?}");
    }

    #[test]
    fn what_delayed_it_is_a_part_of_it() {
        let timer = PastSleep::from_sleep(TracedSleep {
            asleep_since: Some(at(0)),
            asleep_again: Some(at(2_000)),
            ..by_timer(7, 1_000, 1_300)
        });
        let awakening = crate::watch::Awakening::from_sleep(&timer.sleep, crate::cause::Past::NONE).unwrap();
        let late = &awakening.parts.wakeup.parts;
        let parts = IterationParts::between(&[timer], late, at(1_300), at(1_900));
        let IterationParts::Known(breakdown) = &parts else { panic!("{parts:?}") };
        assert_eq!(breakdown.latency.as_nanos(), 900, "from the time that its timer was set to");
        assert_eq!(shares(&parts), [(Part::AtWork, 600), (Part::Blocked, 0)]);
    }
}
