//! Tells from the sleeps of a thread whether it waits for events in an event loop, and how long its iterations were throttled.
//!
//! ```text
//! iteration  |---|        |-------|          |---|
//! asleep          |-----|                              in the call in which it waits: an event loop
//! asleep      |-|           |--|    |-|                within iterations, or not at all: none
//! ```
//!
//! Go's `sysmon` sleeps, and then polls epoll without waiting: it returns to such a call a hundred times a second, and
//! serves no events.

use std::collections::VecDeque;

use howlate_model::{HolderKind, Iteration, MonotonicTime, Span, TracedSleep};

/// Iterations and throttled times that are remembered per thread: a sleep may be reported later than those.
const REMEMBERED: usize = 64;

/// The sleeps of one thread relative to its iterations.
#[derive(Default)]
pub(crate) struct LoopSleeps {
    iterations: VecDeque<(MonotonicTime, MonotonicTime)>,
    /// The first sleep after the last known iteration.
    first: Option<MonotonicTime>,
    waits_for_events: bool,
    sleeps_within: bool,
    throttled: VecDeque<(MonotonicTime, MonotonicTime)>,
    known_until: Option<MonotonicTime>,
}

impl LoopSleeps {
    /// Iterations of a thread arrive in order.
    pub(crate) fn add_iteration(&mut self, iteration: &Iteration) {
        if let Some(first) = self.first.take_if(|first| *first < iteration.until) {
            self.waits_for_events |= first < iteration.from && !self.iterations.is_empty();
            self.sleeps_within |= first >= iteration.from;
        }
        remember(&mut self.iterations, (iteration.from, iteration.until));
    }

    /// A sleep is reported when the next one begins.
    pub(crate) fn add_sleep(&mut self, sleep: &TracedSleep) {
        self.note_throttling(sleep);
        self.known_until = sleep.asleep_again.or(self.known_until);
        let Some(at) = sleep.asleep_since.filter(|_| !sleep.is_stopped()) else { return };
        let Some((_, last)) = self.iterations.back() else { return };
        if at >= *last {
            self.first = self.first.or(Some(at));
            return;
        }
        self.sleeps_within |= self.iterations.iter().any(|(from, until)| (*from..*until).contains(&at));
        let following = self.iterations.iter().skip(1);
        let mut between = self.iterations.iter().zip(following);
        self.waits_for_events |= between.any(|((_, ended), (began, _))| (*ended..*began).contains(&at));
    }

    fn note_throttling(&mut self, sleep: &TracedSleep) {
        let mut stretches = Vec::new();
        let quota_occupants =
            sleep.occupants.iter().filter(|occupant| occupant.who.holder == HolderKind::Quota);
        // A merged occupant has no start of its own: that of the wait is taken.
        stretches
            .extend(quota_occupants.map(|occupant| (occupant.from.unwrap_or(sleep.runnable), occupant.ns)));
        let lost = sleep.lost.iter().filter(|lost| lost.throttled);
        stretches.extend(lost.map(|lost| (lost.from, lost.until.since(lost.from))));
        stretches.iter().for_each(|(from, long)| remember(&mut self.throttled, (*from, from.plus(*long))));
    }

    /// Whether it was seen asleep in the call in which it waits for events.
    pub(crate) const fn waits_for_events(&self) -> bool {
        self.waits_for_events
    }

    /// Whether it sleeps, but never in that call.
    pub(crate) const fn only_polls(&self) -> bool {
        self.sleeps_within && !self.waits_for_events
    }

    /// Whether all throttling up to `at` is known.
    pub(crate) fn is_known_until(&self, at: MonotonicTime) -> bool {
        self.known_until.is_some_and(|known| known >= at)
    }

    /// How long its control group was throttled during an iteration.
    pub(crate) fn throttled_time(&self, iteration: &Iteration) -> Span {
        let within = |(from, until): &(MonotonicTime, MonotonicTime)| {
            let (from, until) = ((*from).max(iteration.from), (*until).min(iteration.until));
            if from < until { until.since(from) } else { Span::ZERO }
        };
        self.throttled.iter().map(within).fold(Span::ZERO, Span::plus).min(iteration.ready)
    }
}

fn remember<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(item);
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, CpuLoss, LoopWait, WakeSource};

    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    fn iteration(from: i64, until: i64) -> Iteration {
        let (from, until, blocked) = (at(from), at(until), Span::ZERO);
        Iteration {
            tid: 7,
            wait: LoopWait::Epoll,
            file: Some(3),
            from,
            until,
            blocked,
            ready: Span::from_nanos(50),
            quota: Span::ZERO,
            longest_sleep: None,
            stack: Vec::new(),
        }
    }

    fn sleep(since: i64, woken: i64) -> TracedSleep {
        let idle = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        let sleep = TracedSleep::new(7, at(woken), WakeSource::Other(idle));
        TracedSleep { asleep_since: Some(at(since)), asleep_again: Some(at(woken + 1_000)), ..sleep }
    }

    /// Iterations of 100 with 100 in between; an iteration is reported when it ends, a sleep at once or one iteration later.
    #[track_caller]
    fn check(times: &[i64], waits_for_events: bool, only_polls: bool) {
        for reported_after in [5, 205] {
            let mut sleeps = LoopSleeps::default();
            for now in 0..2_000 {
                if now % 200 == 100 {
                    sleeps.add_iteration(&iteration(now - 100, now));
                }
                let began = now - reported_after;
                if began >= 0 && times.contains(&(began % 200)) {
                    sleeps.add_sleep(&sleep(began, now));
                }
            }
            assert_eq!(
                (sleeps.waits_for_events(), sleeps.only_polls()),
                (waits_for_events, only_polls),
                "{times:?} {reported_after}"
            );
        }
    }

    #[test]
    fn a_thread_that_only_sleeps_elsewhere_only_polls() {
        check(&[150], true, false);
        check(&[20, 150], true, false);
        check(&[20, 40, 60], false, true);
        check(&[], false, false);
    }

    #[test]
    fn throttled_time_of_an_iteration_is_known() {
        let mut sleeps = LoopSleeps::default();
        let to = CpuHolder { holder: HolderKind::Quota, pid: None, name: "/pod".to_owned() };
        let lost = CpuLoss { from: at(80), until: at(140), to, throttled: true, merged: false };
        sleeps.add_sleep(&TracedSleep { lost: vec![lost], ..sleep(0, 50) });
        assert_eq!(
            sleeps.throttled_time(&iteration(60, 130)),
            Span::from_nanos(50),
            "it was ready for so long"
        );
        assert_eq!(sleeps.throttled_time(&iteration(60, 100)), Span::from_nanos(20));
        assert_eq!(sleeps.throttled_time(&iteration(140, 200)), Span::ZERO);
        assert!(sleeps.is_known_until(at(1_050)) && !sleeps.is_known_until(at(1_051)));
    }
}
