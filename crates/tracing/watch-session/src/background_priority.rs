//! The watching thread runs under `SCHED_IDLE`, so that it does not delay the program it watches.

use howlate_linux::background_priority::BackgroundPriority;
use howlate_model::{MonotonicTime, Policy, Span};

/// At first many new threads are asked for their names, and a short program ends before it is lowered.
const LOWERED_AFTER: Span = Span::from_millis(250);
/// A look that starts later than this, or takes longer, misses short-lived threads.
const TOO_LATE: Span = Span::from_millis(100);

/// Priority of the watching thread: lowered after a while, restored for good once it looks too late.
pub(crate) struct WatchPriority {
    priority: BackgroundPriority,
    /// Start of watching; `None` once the thread was lowered, or never will be.
    start: Option<MonotonicTime>,
}

impl WatchPriority {
    pub(crate) const fn new(start: MonotonicTime) -> Self {
        let priority = BackgroundPriority::new(Policy::OTHER, Policy::Idle);
        Self { priority, start: Some(start) }
    }

    /// After a look or a pause that ended at `now`: `planned` is when the pause should have ended, or when the look began.
    pub(crate) fn update(&mut self, now: MonotonicTime, planned: MonotonicTime) {
        if now.since(planned) > TOO_LATE {
            self.restore();
        }
        if self.start.is_some_and(|start| now.since(start) > LOWERED_AFTER) {
            self.start = None;
            if self.priority.can_be_restored() {
                self.priority.lower();
            }
        }
    }

    /// Returns to the normal priority for good, for example when events were lost.
    pub(crate) fn restore(&mut self) {
        self.start = None;
        self.priority.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_look_restores_the_priority_for_good() {
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut priority = WatchPriority::new(at(0));
        priority.update(at(200), at(190));
        assert!(priority.start.is_some() && !priority.priority.is_lowered());
        priority.update(at(1_500), at(1_450));
        assert!(priority.start.is_none());
        assert_eq!(priority.priority.is_lowered(), priority.priority.can_be_restored());
        let is_over = |priority: &WatchPriority| priority.start.is_none() && !priority.priority.is_lowered();
        priority.update(at(1_700), at(1_550));
        assert!(is_over(&priority));
        priority.update(at(9_000), at(9_000));
        assert!(is_over(&priority), "it stays so");
    }
}
