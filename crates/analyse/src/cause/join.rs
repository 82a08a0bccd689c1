//! Which of the sleeps that a tracer saw belong to which wake-up.

use std::collections::VecDeque;

use howlate_model::{Explained, Ledger, Lost, MonotonicTime, NotDecomposed, Traced, Wakeup};

use super::decompose;

/// Sleeps that are kept while the wake-ups that they belong to have not arrived.
const KEPT: usize = 65_536;

/// Joins the wake-ups of one thread with what a tracer saw of it, and enters them into a ledger.
///
/// Both come in the order of time, each in its own time: a sleep is known when the next one begins.
#[derive(Debug, Default)]
pub struct Joiner {
    seen: VecDeque<Traced>,
    waiting: VecDeque<Wakeup>,
    before: Option<MonotonicTime>,
    /// When the tracer last lost something.
    lost_at: Option<MonotonicTime>,
    notified: bool,
    /// Where the thread lost its CPU after its last sleep.
    lost_before: Vec<Lost>,
    /// What came of it.
    pub ledger: Ledger,
    /// Every wake-up by itself, where that is wanted.
    kept: Option<Vec<Judged>>,
}

/// A wake-up, and its parts where they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// When it was to be, and when it was.
    pub wakeup: Wakeup,
    /// What is known of it.
    pub explained: Option<Explained>,
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

    /// The wake-ups that were kept, in order.
    pub fn into_kept(self) -> Vec<Judged> {
        self.kept.unwrap_or_default()
    }

    /// Takes what was seen of the thread.
    pub fn saw(&mut self, one: Traced) {
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

    /// The tracer lost `events` before `now`: nothing around that can be attributed.
    pub fn lost(&mut self, events: u64, now: MonotonicTime) {
        if events > 0 {
            self.ledger.lost_events += events;
            self.lost_at = Some(now);
        }
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
        let mine: Vec<Traced> = self.seen.drain(..mine).collect();
        // Sleeps that ended before the time asked for have no part in it.
        let past =
            mine.iter().take_while(|one| is_past(one, wakeup)).count().min(mine.len().saturating_sub(1));
        let before =
            past.checked_sub(1).map_or(std::mem::take(&mut self.lost_before), |last| mine[last].lost.clone());
        let known = decompose(wakeup, &before, &mine[past..], self.notified);
        self.lost_before = mine.last().map(|last| last.lost.clone()).unwrap_or_default();
        match &known {
            Some(known) => {
                self.ledger.add(&known.wakeup);
                self.ledger.clamped += known.clamped;
            }
            None => self.ledger.add_unknown(wakeup.latency(), self.why_not(wakeup)),
        }
        if let Some(kept) = &mut self.kept {
            kept.push(Judged { wakeup, explained: known.map(|known| known.wakeup) });
        }
    }

    fn why_not(&self, wakeup: Wakeup) -> NotDecomposed {
        if self.lost_at.is_some_and(|lost| wakeup.ran <= lost) {
            NotDecomposed::LostEvents
        } else {
            NotDecomposed::NotSeen
        }
    }
}

fn is_past(one: &Traced, wakeup: Wakeup) -> bool {
    one.asleep_again.is_some_and(|again| again <= wakeup.expected)
}
