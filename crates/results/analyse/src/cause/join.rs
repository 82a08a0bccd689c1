//! Which of the sleeps that a tracer saw belong to which wake-up.
//!
//! ```text
//! loop           ran                        expected      ran
//!                |--------------------------|-------------|
//! tracer   wakes      sleeps   wakes   sleeps    wakes        sleeps
//!          |----------|        |-------|         |------------|
//!           the one before      past: no part     explains the lateness, from here on all is known
//! ```

use std::collections::VecDeque;

use howlate_model::{
    Latency, Ledger, MonotonicTime, TracedSleep, UndecomposedReason, Wakeup, WakeupBreakdown,
};

use super::decompose::{Decomposed, decompose, found_awake};

/// Sleeps that are kept while the wake-ups that they belong to have not arrived.
const KEPT: usize = 65_536;
/// Late wake-ups that are told of by themselves, between two calls.
const LATE: usize = 1_024;

/// Joins the wake-ups of one thread with what a tracer saw of it, and enters them into a ledger.
///
/// Both come in the order of time, each in its own time: a sleep is known when the next one begins.
#[derive(Debug, Default)]
pub struct Joiner {
    seen: VecDeque<TracedSleep>,
    waiting: VecDeque<Wakeup>,
    before: Option<MonotonicTime>,
    /// Stretches of time in which the tracer lost something, in order and apart.
    doubtful: VecDeque<(MonotonicTime, MonotonicTime)>,
    /// When the last of them ended.
    lost_until: Option<MonotonicTime>,
    notified: bool,
    /// The sleep of the thread before those that are still to be looked at.
    last: Option<TracedSleep>,
    /// What came of it.
    pub ledger: Ledger,
    /// Every wake-up by itself, where that is wanted.
    kept: Option<Vec<Judged>>,
    /// Later ones than this are told of by themselves, where that is wanted.
    late_above: Option<Latency>,
    late: Vec<WakeupBreakdown>,
}

/// A wake-up, and its parts where they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// When it was to be, and when it was.
    pub wakeup: Wakeup,
    /// What is known of it.
    pub explained: Option<WakeupBreakdown>,
}

impl Joiner {
    /// For a thread that is woken by messages rather than by a timer, if `notified`.
    pub fn new(notified: bool) -> Self {
        Self { notified, ..Self::default() }
    }

    /// The same, and every wake-up is kept by itself: for as many as fit into memory.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { kept: Some(Vec::new()), ..self }
    }

    /// From now on, wake-ups that are later than this are told of by themselves.
    pub fn tell_above(&mut self, above: Latency) {
        self.late_above = Some(above);
    }

    /// Those since the last call, in order; of one that was not seen, no parts.
    pub fn take_late(&mut self) -> Vec<WakeupBreakdown> {
        std::mem::take(&mut self.late)
    }

    /// The wake-ups that were kept, in order.
    pub fn into_kept(self) -> Vec<Judged> {
        self.kept.unwrap_or_default()
    }

    /// Takes what was seen of the thread.
    pub fn saw(&mut self, one: TracedSleep) {
        if self.seen.len() == KEPT {
            self.seen.pop_front();
        }
        self.seen.push_back(one);
        while self.waiting.front().is_some_and(|wakeup| self.is_complete(*wakeup)) {
            self.settle();
        }
    }

    /// Takes wake-ups of the thread.
    pub fn woke(&mut self, wakeups: impl IntoIterator<Item = Wakeup>) {
        self.waiting.extend(wakeups);
        while self.waiting.front().is_some_and(|wakeup| self.is_complete(*wakeup)) {
            self.settle();
        }
    }

    /// The tracer lost `events` between two times: no wake-up that was due or under way then can be attributed. To be said
    /// before what was seen in that time is handed on.
    pub fn lost(&mut self, events: u64, from: MonotonicTime, until: MonotonicTime) {
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

    /// Whether something was lost while `wakeup` was late. They come in order: what is past is forgotten.
    fn is_doubtful(&mut self, wakeup: Wakeup) -> bool {
        while self.doubtful.front().is_some_and(|(_, until)| *until < wakeup.expected) {
            self.doubtful.pop_front();
        }
        self.doubtful.iter().any(|(from, _)| *from <= wakeup.ran)
    }

    /// Nothing more will come.
    pub fn end(&mut self) {
        while !self.waiting.is_empty() {
            self.settle();
        }
    }

    /// Whether all that belongs to `wakeup` has come: the thread went to sleep again after it.
    fn is_complete(&self, wakeup: Wakeup) -> bool {
        self.seen.back().is_some_and(|last| last.asleep_again.is_some_and(|again| again >= wakeup.ran))
    }

    fn settle(&mut self) {
        let Some(wakeup) = self.waiting.pop_front() else { return };
        let since = self.before.replace(wakeup.ran);
        while self.seen.front().is_some_and(|one| since.is_some_and(|since| one.waking <= since)) {
            self.seen.pop_front();
        }
        let mine = self.seen.iter().take_while(|one| one.waking <= wakeup.ran).count();
        let mine: Vec<TracedSleep> = self.seen.drain(..mine).collect();
        // Sleeps that ended before the time asked for have no part in it.
        let past =
            mine.iter().take_while(|one| is_past(one, wakeup)).count().min(mine.len().saturating_sub(1));
        let is_doubtful = self.is_doubtful(wakeup);
        let known = if is_doubtful { None } else { self.explain(wakeup, &mine, past) };
        self.last = mine.last().cloned().or(self.last.take());
        match &known {
            Some(known) => {
                self.ledger.add(&known.wakeup);
                self.ledger.clamped += known.clamped;
            }
            None => self.ledger.add_unknown(wakeup.latency(), self.why_not(wakeup, is_doubtful)),
        }
        if self.late_above.is_some_and(|above| wakeup.latency() > above) && self.late.len() < LATE {
            let unknown = || WakeupBreakdown {
                at: wakeup.ran,
                latency: wakeup.latency(),
                cpu: None,
                parts: Vec::new(),
            };
            self.late.push(known.as_ref().map_or_else(unknown, |known| known.wakeup.clone()));
        }
        if let Some(kept) = &mut self.kept {
            kept.push(Judged { wakeup, explained: known.map(|known| known.wakeup) });
        }
    }

    /// Splits `wakeup` by `mine`, of which the first ones are `past`; of a receiver that nobody had to wake, by what it was
    /// up to.
    fn explain(&self, wakeup: Wakeup, mine: &[TracedSleep], past: usize) -> Option<Decomposed> {
        let before = past.checked_sub(1).map_or(self.last.as_ref(), |last| mine.get(last));
        let awake = before.filter(|before| self.notified && mine.is_empty() && was_awake(before, wakeup));
        match awake {
            Some(awake) => Some(found_awake(wakeup, awake)),
            None => decompose(wakeup, before, &mine[past..], self.notified),
        }
    }

    /// Of a wake-up that was not seen before something was lost, that may have been what was lost.
    fn why_not(&self, wakeup: Wakeup, is_doubtful: bool) -> UndecomposedReason {
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

fn is_past(one: &TracedSleep, wakeup: Wakeup) -> bool {
    one.asleep_again.is_some_and(|again| again <= wakeup.expected)
}
