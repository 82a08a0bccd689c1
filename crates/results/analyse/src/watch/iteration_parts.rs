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
