//! What the sleeps of a thread tell of its event loop: whether it ever waits for events, and when a quota kept it.
//!
//! ```text
//! iteration  |---|        |-------|          |---|
//! asleep          |-----|                              in the call in which it waits: an event loop
//! asleep      |-|           |--|    |-|                within iterations, or not at all: none
//! ```
//!
//! Go's `sysmon` sleeps, and then looks at epoll without waiting: it comes back to such a call a hundred times a second, and
//! serves no events.

use std::collections::VecDeque;

use howlate_model::{Holder, Iteration, MonotonicTime, Span, TracedSleep};

/// Iterations, and stretches without quota, that are remembered of each thread: those that a sleep may still be told of.
const REMEMBERED: usize = 64;

/// The sleeps of one thread beside its iterations.
#[derive(Default)]
pub(crate) struct LoopSleeps {
    iterations: VecDeque<(MonotonicTime, MonotonicTime)>,
    /// The first sleep after the last iteration that is known.
    first: Option<MonotonicTime>,
    waits: bool,
    sleeps_within: bool,
    quota: VecDeque<(MonotonicTime, MonotonicTime)>,
    known_until: Option<MonotonicTime>,
}

impl LoopSleeps {
    /// Takes an iteration; those of a thread come in their order.
    pub(crate) fn iterated(&mut self, one: &Iteration) {
        if let Some(first) = self.first.take_if(|first| *first < one.until) {
            self.waits |= first < one.from && !self.iterations.is_empty();
            self.sleeps_within |= first >= one.from;
        }
        remember(&mut self.iterations, (one.from, one.until));
    }

    /// Takes a sleep, of which all is told when the next one begins.
    pub(crate) fn slept(&mut self, one: &TracedSleep) {
        self.note_quota(one);
        self.known_until = one.asleep_again.or(self.known_until);
        let Some(at) = one.asleep_since.filter(|_| !one.is_stopped()) else { return };
        let Some((_, last)) = self.iterations.back() else { return };
        if at >= *last {
            self.first = self.first.or(Some(at));
            return;
        }
        self.sleeps_within |= self.iterations.iter().any(|(from, until)| (*from..*until).contains(&at));
        let following = self.iterations.iter().skip(1);
        let mut between = self.iterations.iter().zip(following);
        self.waits |= between.any(|((_, ended), (began, _))| (*ended..*began).contains(&at));
    }

    fn note_quota(&mut self, one: &TracedSleep) {
        let mut stretches = Vec::new();
        let kept = one.occupants.iter().filter(|occupant| occupant.who.holder == Holder::Quota);
        // Of those that are only known together, nobody knows when.
        stretches.extend(kept.map(|of| (of.from.unwrap_or(one.runnable), of.ns)));
        let lost = one.lost.iter().filter(|lost| lost.throttled);
        stretches.extend(lost.map(|lost| (lost.from, lost.until.since(lost.from))));
        stretches.iter().for_each(|(from, long)| remember(&mut self.quota, (*from, from.plus(*long))));
    }

    /// Whether it was seen to sleep in the call in which it waits for events.
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// Whether it sleeps, and never in that call.
    pub(crate) const fn only_looks(&self) -> bool {
        self.sleeps_within && !self.waits
    }

    /// Whether all is known of what kept it until then.
    pub(crate) fn is_known_until(&self, at: MonotonicTime) -> bool {
        self.known_until.is_some_and(|known| known >= at)
    }

    /// How much of an iteration its control group was without quota, as far as it was seen.
    pub(crate) fn without_quota(&self, one: &Iteration) -> Span {
        let within = |(from, until): &(MonotonicTime, MonotonicTime)| {
            let (from, until) = ((*from).max(one.from), (*until).min(one.until));
            if from < until { until.since(from) } else { Span::ZERO }
        };
        self.quota.iter().map(within).fold(Span::ZERO, Span::plus).min(one.ready)
    }
}

fn remember<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == REMEMBERED {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests {
    use howlate_model::{LoopWait, Lost, Who, WokenBy};

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
        let nobody = Who { holder: Holder::Idle, pid: None, name: String::new() };
        let one = TracedSleep::woken(7, at(woken), WokenBy::Other(nobody));
        TracedSleep { asleep_since: Some(at(since)), asleep_again: Some(at(woken + 1_000)), ..one }
    }

    /// Iterations of 100 with 100 in between; each is told when it ends, each sleep at once, or an iteration later.
    #[track_caller]
    fn check(sleeps: &[i64], waits: bool, only_looks: bool) {
        for told_after in [5, 205] {
            let mut of = LoopSleeps::default();
            for now in 0..2_000 {
                if now % 200 == 100 {
                    of.iterated(&iteration(now - 100, now));
                }
                let began = now - told_after;
                if began >= 0 && sleeps.contains(&(began % 200)) {
                    of.slept(&sleep(began, now));
                }
            }
            assert_eq!((of.waits(), of.only_looks()), (waits, only_looks), "{sleeps:?} {told_after}");
        }
    }

    #[test]
    fn a_thread_that_sleeps_elsewhere_alone_only_looks() {
        check(&[150], true, false);
        check(&[20, 150], true, false);
        check(&[20, 40, 60], false, true);
        check(&[], false, false);
    }

    #[test]
    fn what_a_quota_took_of_an_iteration_is_told() {
        let mut of = LoopSleeps::default();
        let to = Who { holder: Holder::Quota, pid: None, name: "/pod".to_owned() };
        let lost = Lost { from: at(80), until: at(140), to, throttled: true, merged: false };
        of.slept(&TracedSleep { lost: vec![lost], ..sleep(0, 50) });
        assert_eq!(of.without_quota(&iteration(60, 130)), Span::from_nanos(50), "it was ready for so long");
        assert_eq!(of.without_quota(&iteration(60, 100)), Span::from_nanos(20));
        assert_eq!(of.without_quota(&iteration(140, 200)), Span::ZERO);
        assert!(of.is_known_until(at(1_050)) && !of.is_known_until(at(1_051)));
    }
}
