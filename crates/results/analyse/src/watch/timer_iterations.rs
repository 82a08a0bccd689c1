//! Iterations of threads between their timers: how long each takes, and what it is blocked in meanwhile.

use std::collections::HashMap;

use howlate_model::{
    Activation, Cause, Distribution, HolderKind, IterationWait, Latency, MonotonicTime, Segment, SleepSite,
    SleepState, Span, WakeSource,
};

use super::Awakening;
use super::iteration_parts::IterationParts;
use crate::cause::{PastSleep, wait_cause};

/// Calls in which programs wait for events: a thread in one of them has nothing else to do.
const WAITS_FOR_EVENTS: [&str; 8] =
    ["epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6", "io_uring_enter"];
/// Most different waits listed per iteration.
const WAITS_PER_ITERATION: usize = 12;
/// Most sleeps of an iteration; one with more of them is not known part by part.
const SLEEPS_PER_ITERATION: usize = 64;

/// The iterations in progress.
#[derive(Debug, Default)]
pub struct TimerIterations {
    by_tid: HashMap<u32, OpenIteration>,
}

#[derive(Debug)]
struct OpenIteration {
    due: MonotonicTime,
    /// When it ran, and what delayed it until then.
    ran: MonotonicTime,
    late: Vec<Segment>,
    /// The sleep that its timer ended, and those within it: at most [`SLEEPS_PER_ITERATION`].
    sleeps: Vec<PastSleep>,
    waits: Vec<(Cause, Option<u32>, Span)>,
}

/// An iteration that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct TimerIteration {
    /// From the time that its timer was set to until it slept on its timer again.
    pub length: Span,
    /// From then until the next time that the timer was set to.
    pub slept: Span,
    /// What it was blocked in.
    pub waits: Vec<IterationWait>,
    /// What it went to; `None` where it took no time.
    pub parts: Option<IterationParts>,
}

impl TimerIterations {
    /// Takes a sleep of a thread; `Some` if a timer ended it, and with it the iteration before.
    pub fn record_sleep(
        &mut self,
        past: &PastSleep,
        awakening: Option<&Awakening>,
    ) -> Option<TimerIteration> {
        let (tid, sleep) = (past.sleep.tid, &past.sleep);
        let by_timer = awakening.filter(|awakening| awakening.activation == Activation::Timer);
        let Some(by_timer) = by_timer else {
            if let Some(iteration) = self.by_tid.get_mut(&tid) {
                iteration.blocked(past);
                if iteration.sleeps.len() < SLEEPS_PER_ITERATION {
                    iteration.sleeps.push(past.clone());
                }
            }
            return None;
        };
        let due = by_timer.wakeup.expected;
        let (ran, late) = (by_timer.wakeup.ran, by_timer.parts.wakeup.parts.clone());
        let next = OpenIteration { due, ran, late, sleeps: vec![past.clone()], waits: Vec::new() };
        let before = self.by_tid.insert(tid, next)?;
        Some(before.end(sleep.asleep_since?, due))
    }

    /// Drops the state of a thread that has ended.
    pub fn forget(&mut self, tid: u32) {
        self.by_tid.remove(&tid);
    }
}

impl OpenIteration {
    /// Adds a sleep within the iteration: a wait without a time limit, or for a lock.
    fn blocked(&mut self, past: &PastSleep) {
        let sleep = &past.sleep;
        let (Some(since), SleepState::Waiting) = (sleep.asleep_since, &sleep.asleep) else { return };
        let waker = match &sleep.woken_by {
            WakeSource::Other(who) => Some(who).filter(|who| who.holder == HolderKind::Thread),
            WakeSource::Timer(_) => None,
            WakeSource::NotSeen { .. } => return,
        };
        if matches!(&sleep.slept_in, Some(SleepSite::Call(call)) if WAITS_FOR_EVENTS.contains(&call.as_str()))
        {
            return;
        }
        let own = waker.and_then(|waker| waker.pid).is_some_and(|pid| past.is_own(pid));
        let (cause, length) = (Cause { own, ..wait_cause(sleep, waker) }, sleep.waking.since(since));
        let pid = waker.and_then(|waker| waker.pid);
        let has_room = self.waits.len() < WAITS_PER_ITERATION;
        match self.waits.iter_mut().find(|(wait_cause, ..)| *wait_cause == cause) {
            Some((_, waker_tid, total)) => {
                (*waker_tid, *total) =
                    (waker_tid.filter(|waker_tid| Some(*waker_tid) == pid), total.plus(length))
            }
            None if has_room => self.waits.push((cause, pid, length)),
            None => {}
        }
    }

    fn end(self, asleep: MonotonicTime, next: MonotonicTime) -> TimerIteration {
        let wait = |(cause, tid, total): (Cause, Option<u32>, Span)| {
            let mut time = Distribution::default();
            time.record(Latency::from_span(total));
            IterationWait {
                kind: cause.kind,
                call: cause.call,
                by: cause.name,
                tid,
                own: cause.own,
                time,
                total,
            }
        };
        let is_longer = asleep > self.ran;
        let parts = is_longer.then(|| IterationParts::between(&self.sleeps, &self.late, self.ran, asleep));
        let waits = self.waits.into_iter().map(wait).collect();
        // A thread that asks for a time in the past sleeps only after it.
        let length = if asleep > self.due { asleep.since(self.due) } else { Span::ZERO };
        TimerIteration { length, slept: next.since(asleep), waits, parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Past;
    use crate::watch::thread::testing::{at, by_timer, woken};
    use howlate_model::{CauseKind, CpuHolder, TracedSleep};

    fn asleep(since: i64, call: &str, sleep: TracedSleep) -> TracedSleep {
        TracedSleep {
            asleep_since: Some(at(since)),
            slept_in: Some(SleepSite::Call(call.to_owned())),
            ..sleep
        }
    }

    // 1000    1100   1200    1700   2000      3000
    // timer   runs   asleep  woken  asleep    timer
    #[test]
    fn what_an_iteration_waited_for_is_told_when_the_next_timer_ends_a_sleep() {
        let planner = CpuHolder { holder: HolderKind::Thread, pid: Some(9), name: "planner".to_owned() };
        let mut iterations = TimerIterations::default();
        let mut record = |sleep: TracedSleep| {
            let awakening = Awakening::from_sleep(&sleep, Past::NONE);
            iterations.record_sleep(&PastSleep::from_sleep(sleep), awakening.as_ref())
        };
        assert_eq!(record(asleep(900, "clock_nanosleep", by_timer(7, 1_000, 1_100))), None);
        assert_eq!(record(asleep(1_200, "futex", woken(7, planner.clone(), 1_700, 1_710))), None);
        assert_eq!(record(asleep(1_720, "futex", woken(7, planner.clone(), 1_730, 1_740))), None);
        assert_eq!(
            record(asleep(1_750, "epoll_wait", woken(7, planner, 1_900, 1_910))),
            None,
            "it had nothing to do"
        );
        let iteration = record(asleep(2_000, "clock_nanosleep", by_timer(7, 3_000, 3_100))).unwrap();
        assert_eq!((iteration.length, iteration.slept), (Span::from_nanos(1_000), Span::from_nanos(1_000)));
        let [wait] = iteration.waits.as_slice() else { panic!("{:?}", iteration.waits) };
        assert_eq!((wait.kind, wait.by.as_str(), wait.tid), (CauseKind::Lock, "planner", Some(9)));
        assert_eq!((wait.total, wait.time.count()), (Span::from_nanos(510), 1));
        let none = record(asleep(3_200, "clock_nanosleep", by_timer(7, 4_000, 4_100))).unwrap();
        assert_eq!((none.length, none.waits.len()), (Span::from_nanos(200), 0));
    }
}
