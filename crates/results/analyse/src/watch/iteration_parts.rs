//! What iterations of loops went to, part by part.

use std::collections::VecDeque;

use howlate_model::{Latency, Ledger, MonotonicTime, Segment, Span, UndecomposedReason, WakeupBreakdown};

use crate::cause::{PastSleep, work_parts};

/// An iteration waits at most this long for the records of its thread's sleeps.
const PATIENCE: Span = Span::from_secs(2);
/// Most iterations and most sleeps that wait.
const MOST_ITERATIONS: usize = 4_096;
const MOST_SLEEPS: usize = 1_024;

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

/// The iterations of one thread whose sleeps may not be recorded yet.
#[derive(Debug, Default)]
pub struct AwaitedParts {
    iterations: VecDeque<(MonotonicTime, MonotonicTime)>,
    sleeps: VecDeque<PastSleep>,
}

impl AwaitedParts {
    /// Takes the next sleep of the thread.
    pub fn record_sleep(&mut self, past: &PastSleep) {
        if self.sleeps.len() == MOST_SLEEPS {
            self.sleeps.pop_front();
        }
        self.sleeps.push_back(past.clone());
    }

    /// Takes the next iteration of the thread; beyond the first few thousand that wait, it is left out.
    pub fn record_iteration(&mut self, from: MonotonicTime, until: MonotonicTime) {
        if self.iterations.len() < MOST_ITERATIONS {
            self.iterations.push_back((from, until));
        }
    }

    /// The iterations of which all is known by `now`, or will not be.
    pub fn settle(&mut self, now: MonotonicTime) -> Vec<IterationParts> {
        let mut settled = Vec::new();
        while let Some((from, until)) = self.iterations.front().copied() {
            let recorded = self.sleeps.back().and_then(|last| last.sleep.asleep_again);
            if recorded < Some(until) && now.since(until) < PATIENCE {
                break;
            }
            self.iterations.pop_front();
            settled.push(self.parts(from, until));
        }
        settled
    }

    fn parts(&mut self, from: MonotonicTime, until: MonotonicTime) -> IterationParts {
        let is_over = |past: &PastSleep| past.sleep.asleep_again.is_some_and(|again| again <= from);
        while self.sleeps.front().is_some_and(is_over) {
            self.sleeps.pop_front();
        }
        let begun = self.sleeps.iter().take_while(|past| past.sleep.asleep_since < Some(until)).count();
        let sleeps = &self.sleeps.make_contiguous()[..begun];
        IterationParts::between(sleeps, &[], from, until)
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
        let mut awaited = AwaitedParts::default();
        awaited.record_iteration(at(200), at(850));
        awaited.record_sleep(&sleep(0, 400));
        assert_eq!(awaited.settle(at(1_000)), []);
        awaited.record_sleep(&sleep(400, 900));
        let [parts] = awaited.settle(at(1_000)).try_into().unwrap();
        assert_eq!(shares(&parts), [(Part::AtWork, 530), (Part::Blocked, 100)], "{parts:?}");
        awaited.record_iteration(at(860), at(890));
        let [parts] = awaited.settle(at(1_000)).try_into().unwrap();
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
        let mut awaited = AwaitedParts::default();
        awaited.record_sleep(&sleep(0, 400));
        awaited.record_sleep(&sleep(500, 900));
        awaited.record_iteration(at(200), at(850));
        let unseen = IterationParts::NotSeen(Latency::from_nanos(650));
        assert_eq!(awaited.settle(at(1_000)), [unseen], "from 400 to 500 nobody knows");
        awaited.record_iteration(at(950), at(1_950));
        assert_eq!(awaited.settle(at(1_000)), [], "the record may come");
        let unseen = IterationParts::NotSeen(Latency::from_nanos(1_000));
        assert_eq!(awaited.settle(at(1_950).plus(PATIENCE)), [unseen]);
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
