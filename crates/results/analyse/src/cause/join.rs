//! Joins traced sleeps to the wake-ups that ended them.
//!
//! ```text
//! loop           ran                        expected      ran
//!                |--------------------------|-------------|
//! tracer   wakes      sleeps   wakes   sleeps    wakes        sleeps
//!          |----------|        |-------|         |------------|
//!        the one before      past: no part     explains the latency; complete once the thread sleeps again
//! ```

use std::collections::VecDeque;

use howlate_model::{
    Latency, Ledger, MonotonicTime, TracedSleep, UndecomposedReason, Wakeup, WakeupBreakdown,
};

use super::decompose::{Decomposed, decompose, decompose_awake};

/// Most sleeps stored while their wake-ups have not arrived.
const MOST_SLEEPS: usize = 65_536;
/// Most late wake-ups stored between two calls.
const MOST_LATE: usize = 1_024;

/// Joins the wake-ups of one thread with its traced sleeps, and enters them into a ledger.
///
/// Both arrive in order of time, but independently: a sleep is complete when the next one begins.
#[derive(Debug, Default)]
pub struct Joiner {
    sleeps: VecDeque<TracedSleep>,
    waiting: VecDeque<Wakeup>,
    before: Option<MonotonicTime>,
    /// Intervals in which the tracer lost events, in order and apart.
    doubtful: VecDeque<(MonotonicTime, MonotonicTime)>,
    /// When the last of them ended.
    lost_until: Option<MonotonicTime>,
    notified: bool,
    /// The last sleep that was taken out of `sleeps`.
    last: Option<TracedSleep>,
    /// Sums of the causes so far.
    pub ledger: Ledger,
    /// All wake-ups, if they are to be stored.
    wakeups: Option<Vec<ExplainedWakeup>>,
    /// Wake-ups later than this go into `late`.
    late_above: Option<Latency>,
    late: Vec<WakeupBreakdown>,
}

/// A wake-up, with its parts if they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedWakeup {
    pub wakeup: Wakeup,
    pub explained: Option<WakeupBreakdown>,
}

impl Joiner {
    /// `notified`: the thread is woken by messages rather than by a timer.
    pub fn new(notified: bool) -> Self {
        Self { notified, ..Self::default() }
    }

    /// Also stores every wake-up; memory is not bounded.
    #[must_use]
    pub fn storing_wakeups(self) -> Self {
        Self { wakeups: Some(Vec::new()), ..self }
    }

    /// From now on, stores wake-ups later than this for `take_late`.
    pub fn collect_above(&mut self, above: Latency) {
        self.late_above = Some(above);
    }

    /// The late wake-ups since the last call, in order; without parts if they were not traced.
    pub fn take_late(&mut self) -> Vec<WakeupBreakdown> {
        std::mem::take(&mut self.late)
    }

    /// The stored wake-ups, in order.
    pub fn into_wakeups(self) -> Vec<ExplainedWakeup> {
        self.wakeups.unwrap_or_default()
    }

    /// Takes the next sleep of the thread.
    pub fn record_sleep(&mut self, sleep: TracedSleep) {
        if self.sleeps.len() == MOST_SLEEPS {
            self.sleeps.pop_front();
        }
        self.sleeps.push_back(sleep);
        while self.waiting.front().is_some_and(|wakeup| self.is_complete(*wakeup)) {
            self.settle();
        }
    }

    /// Takes wake-ups of the thread.
    pub fn record_wakeups(&mut self, wakeups: impl IntoIterator<Item = Wakeup>) {
        self.waiting.extend(wakeups);
        while self.waiting.front().is_some_and(|wakeup| self.is_complete(*wakeup)) {
            self.settle();
        }
    }

    /// The tracer lost `events` between two times: wake-ups that were due or under way then cannot be attributed. Must be called before
    /// the sleeps of that time are recorded.
    pub fn record_loss(&mut self, events: u64, from: MonotonicTime, until: MonotonicTime) {
        if events == 0 {
            return;
        }
        self.ledger.lost_events += events;
        self.lost_until = Some(until);
        match self.doubtful.back_mut().filter(|(_, before)| *before >= from) {
            Some((_, before)) => *before = until,
            None => self.doubtful.push_back((from, until)),
        }
    }

    /// Whether events were lost while `wakeup` was late. Wake-ups come in order, so earlier losses are dropped.
    fn is_doubtful(&mut self, wakeup: Wakeup) -> bool {
        while self.doubtful.front().is_some_and(|(_, until)| *until < wakeup.expected) {
            self.doubtful.pop_front();
        }
        self.doubtful.iter().any(|(from, _)| *from <= wakeup.ran)
    }

    /// Settles the remaining wake-ups, when nothing more will come.
    pub fn end(&mut self) {
        while !self.waiting.is_empty() {
            self.settle();
        }
    }

    /// Whether all that belongs to `wakeup` has arrived: the thread went to sleep again after it.
    fn is_complete(&self, wakeup: Wakeup) -> bool {
        self.sleeps.back().is_some_and(|last| last.asleep_again.is_some_and(|again| again >= wakeup.ran))
    }

    fn settle(&mut self) {
        let Some(wakeup) = self.waiting.pop_front() else { return };
        let since = self.before.replace(wakeup.ran);
        while self.sleeps.front().is_some_and(|sleep| since.is_some_and(|since| sleep.waking <= since)) {
            self.sleeps.pop_front();
        }
        let own_count = self.sleeps.iter().take_while(|sleep| sleep.waking <= wakeup.ran).count();
        let own_sleeps: Vec<TracedSleep> = self.sleeps.drain(..own_count).collect();
        // Sleeps that ended before the expected time have no part in it.
        let past = own_sleeps
            .iter()
            .take_while(|sleep| is_past(sleep, wakeup))
            .count()
            .min(own_sleeps.len().saturating_sub(1));
        let is_doubtful = self.is_doubtful(wakeup);
        let decomposed = if is_doubtful { None } else { self.explain(wakeup, &own_sleeps, past) };
        self.last = own_sleeps.last().cloned().or(self.last.take());
        match &decomposed {
            Some(decomposed) => {
                self.ledger.add(&decomposed.wakeup);
                self.ledger.clamped += decomposed.clamped;
            }
            None => {
                self.ledger.add_undecomposed(wakeup.latency(), self.reason_unexplained(wakeup, is_doubtful))
            }
        }
        if self.late_above.is_some_and(|above| wakeup.latency() > above) && self.late.len() < MOST_LATE {
            let unknown = || WakeupBreakdown {
                at: wakeup.ran,
                latency: wakeup.latency(),
                cpu: None,
                parts: Vec::new(),
            };
            self.late.push(decomposed.as_ref().map_or_else(unknown, |decomposed| decomposed.wakeup.clone()));
        }
        if let Some(wakeups) = &mut self.wakeups {
            wakeups
                .push(ExplainedWakeup { wakeup, explained: decomposed.map(|decomposed| decomposed.wakeup) });
        }
    }

    /// Splits `wakeup` by its sleeps, of which the first ones are `past`; for a receiver that was awake, by what it was doing.
    fn explain(&self, wakeup: Wakeup, own_sleeps: &[TracedSleep], past: usize) -> Option<Decomposed> {
        let before = past.checked_sub(1).map_or(self.last.as_ref(), |last| own_sleeps.get(last));
        let awake =
            before.filter(|before| self.notified && own_sleeps.is_empty() && was_awake(before, wakeup));
        match awake {
            Some(awake) => Some(decompose_awake(wakeup, awake)),
            None => decompose(wakeup, before, &own_sleeps[past..], self.notified),
        }
    }

    /// A wake-up that was not traced before a loss of events may be among the lost ones.
    fn reason_unexplained(&self, wakeup: Wakeup, is_doubtful: bool) -> UndecomposedReason {
        if is_doubtful || self.lost_until.is_some_and(|lost| wakeup.ran <= lost) {
            UndecomposedReason::LostEvents
        } else {
            UndecomposedReason::NotSeen
        }
    }
}

/// Whether the thread had run since before `wakeup` was due until after it.
fn was_awake(before: &TracedSleep, wakeup: Wakeup) -> bool {
    let ran = before.switched_in.is_some_and(|switched_in| switched_in <= wakeup.expected);
    ran && before.asleep_again.is_some_and(|again| again >= wakeup.ran)
}

fn is_past(sleep: &TracedSleep, wakeup: Wakeup) -> bool {
    sleep.asleep_again.is_some_and(|again| again <= wakeup.expected)
}
