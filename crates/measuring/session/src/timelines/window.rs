//! The stretch of time around a late wake-up that is to be kept, and what else was late in it.

use howlate_model::{CpuTimeline, LateWakeup, Latency, MonotonicTime, Span};
use howlate_trace::TimelineHistory;

/// It begins so long before the wake-up was due, and ends so long after it.
const AROUND: Span = Span::from_millis(100);
/// Late wake-ups of it that are named, the latest.
const NAMED: usize = 20;

/// By this factor less late is much less.
const MUCH_LESS: u64 = 10;

/// The stretch, while it is not over.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
    /// The latest first; the first of all is the one that it is around.
    pub(super) late: Vec<LateWakeup>,
    pub(super) remembered: TimelineHistory,
}

/// How late it was; early ones were not.
pub(super) fn lateness(latency: Latency) -> Span {
    Span::from_nanos(latency.as_nanos().max(0).unsigned_abs())
}

impl Window {
    /// Around this one, of what is remembered for so long.
    pub(super) fn around(one: LateWakeup, remembered: Span) -> Self {
        let until = one.wakeup.at.plus(AROUND);
        let due = one.wakeup.at.minus(lateness(one.wakeup.latency));
        let from = due.minus(AROUND).max(until.minus(remembered));
        Self { from, until, late: vec![one], remembered: TimelineHistory::default() }
    }

    /// Another one was late; returns it where that was after its time.
    pub(super) fn add(&mut self, one: LateWakeup) -> Option<LateWakeup> {
        if one.wakeup.at > self.until {
            return Some(one);
        }
        if one.wakeup.at < self.from {
            return None;
        }
        let place = self.late.partition_point(|other| other.wakeup.latency >= one.wakeup.latency);
        self.late.insert(place, one);
        self.late.truncate(NAMED);
        None
    }

    /// Nobody has said what is late: what was much less so than the latest was not.
    pub(super) fn leave_out_the_mild(&mut self) {
        let least = self.worst().1.as_nanos() / MUCH_LESS;
        self.late.retain(|one| lateness(one.wakeup.latency).as_nanos() >= least);
    }

    /// The latest of all: it is as bad as that.
    pub(super) fn worst(&self) -> (MonotonicTime, Span) {
        self.late
            .first()
            .map_or((self.until, Span::ZERO), |one| (one.wakeup.at, lateness(one.wakeup.latency)))
    }

    /// What all CPUs did; `None`: nothing of the worst wait is remembered.
    pub(super) fn cpus(&self) -> Option<&[CpuTimeline]> {
        let (ran, late) = self.worst();
        self.remembered.of_wait(self.late.first()?.wakeup.cpu, ran.minus(late), ran)
    }
}

#[cfg(test)]
pub(super) mod testing {
    use howlate_model::WakeupBreakdown;

    use super::*;

    /// Ran at so many milliseconds, and was so many late.
    pub(in crate::timelines) fn late(at: i64, latency: i64) -> LateWakeup {
        let at = MonotonicTime::from_nanos(at * 1_000_000);
        let latency = Latency::from_nanos(latency * 1_000_000);
        let wakeup = WakeupBreakdown { at, latency, cpu: Some(0), parts: Vec::new() };
        LateWakeup { condition: 0, tid: 7, pid: 6, thread: "w".into(), process: "p".into(), wakeup }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::late;
    use super::*;

    // 850      950       1000      1100
    // |--------|---------|---------|
    // from     due       ran       until
    #[test]
    fn it_begins_before_it_was_due_and_ends_after_it_ran() {
        let window = Window::around(late(1_000, 50), Span::from_secs(2));
        let millis = |at: MonotonicTime| at.as_nanos() / 1_000_000;
        assert_eq!((millis(window.from), millis(window.until)), (850, 1_100));
        let short = Window::around(late(1_000, 50), Span::from_millis(120));
        assert_eq!(millis(short.from), 980, "what is not remembered is left out");
    }

    #[test]
    fn what_was_late_in_it_is_named_the_latest_first() {
        let mut window = Window::around(late(1_000, 50), Span::from_secs(2));
        assert_eq!(window.add(late(1_050, 70)), None);
        assert_eq!(window.add(late(1_060, 20)), None);
        assert_eq!(window.add(late(840, 80)), None, "told late, and over before");
        assert_eq!(window.add(late(1_101, 900)), Some(late(1_101, 900)), "it is over by then");
        let named: Vec<i64> =
            window.late.iter().map(|one| one.wakeup.latency.as_nanos() / 1_000_000).collect();
        assert_eq!(named, [70, 50, 20]);
        assert_eq!(window.worst().1, Span::from_millis(70));
        assert_eq!(window.add(late(1_070, 7)), None);
        assert_eq!(window.add(late(1_080, 6)), None);
        window.leave_out_the_mild();
        assert_eq!(window.late.len(), 4, "a tenth is late as well");
        (0..100).for_each(|_| drop(window.add(late(1_000, 1))));
        assert_eq!(window.late.len(), NAMED);
    }
}
