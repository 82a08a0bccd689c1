//! The time window around a late wake-up, with all late wake-ups in it.

use howlate_model::{CpuSet, CpuTimeline, LateWakeup, Latency, MonotonicTime, Span};
use howlate_trace::TimelineHistory;

use super::idle_cpu::idle_longest;

/// The window extends from this long before the due time to this long after the wake-up.
const AROUND: Span = Span::from_millis(100);
/// Maximum number of late wake-ups that are listed.
const MAX_LISTED: usize = 20;

/// Wake-ups whose lateness is lower by this factor are left out.
const MUCH_LESS: u64 = 10;

/// An open window.
#[derive(Debug)]
pub(super) struct TimelineWindow {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
    /// Sorted by lateness, latest first.
    pub(super) late: Vec<LateWakeup>,
    pub(super) remembered: TimelineHistory,
}

/// Lateness; zero for early wake-ups.
pub(super) fn lateness(latency: Latency) -> Span {
    Span::from_nanos(latency.as_nanos().max(0).unsigned_abs())
}

impl TimelineWindow {
    /// A window around `one`; the rings hold the last `remembered`.
    pub(super) fn around(late_wakeup: LateWakeup, remembered: Span) -> Self {
        let until = late_wakeup.wakeup.at.plus(AROUND);
        let due = late_wakeup.wakeup.at.minus(lateness(late_wakeup.wakeup.latency));
        let from = due.minus(AROUND).max(until.minus(remembered));
        Self { from, until, late: vec![late_wakeup], remembered: TimelineHistory::default() }
    }

    /// Adds a late wake-up; returns it if it is after the end of the window.
    pub(super) fn add(&mut self, late_wakeup: LateWakeup) -> Option<LateWakeup> {
        if late_wakeup.wakeup.at > self.until {
            return Some(late_wakeup);
        }
        if late_wakeup.wakeup.at < self.from {
            return None;
        }
        let place = self.late.partition_point(|other| other.wakeup.latency >= late_wakeup.wakeup.latency);
        self.late.insert(place, late_wakeup);
        self.late.truncate(MAX_LISTED);
        None
    }

    /// Without a given threshold, leaves out wake-ups that were much less late than the latest.
    pub(super) fn leave_out_the_mild(&mut self) {
        let least = self.worst().1.as_nanos() / MUCH_LESS;
        self.late.retain(|late_wakeup| lateness(late_wakeup.wakeup.latency).as_nanos() >= least);
    }

    /// Finds for each wake-up the CPU that was idle meanwhile; `allowed`: where a thread may run, unless it has ended.
    pub(super) fn find_idle_cpus(&mut self, allowed: impl Fn(u32) -> Option<CpuSet>) {
        let Some(cpus) = self.cpus().map(<[_]>::to_vec) else { return };
        for late in &mut self.late {
            late.idle_cpu = allowed(late.tid).and_then(|allowed| idle_longest(&cpus, &late.wakeup, &allowed));
        }
    }

    /// Time and lateness of the latest wake-up.
    pub(super) fn worst(&self) -> (MonotonicTime, Span) {
        self.late.first().map_or((self.until, Span::ZERO), |late_wakeup| {
            (late_wakeup.wakeup.at, lateness(late_wakeup.wakeup.latency))
        })
    }

    /// Timelines of all CPUs; `None` if the rings hold nothing of the worst wait.
    pub(super) fn cpus(&self) -> Option<&[CpuTimeline]> {
        let (ran, late) = self.worst();
        self.remembered.of_wait(self.late.first()?.wakeup.cpu, ran.minus(late), ran)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use howlate_model::WakeupBreakdown;

    use super::*;

    /// A wake-up that ran at `at` milliseconds, `latency` milliseconds late.
    pub(crate) fn late(at: i64, latency: i64) -> LateWakeup {
        let at = MonotonicTime::from_nanos(at * 1_000_000);
        let latency = Latency::from_nanos(latency * 1_000_000);
        let wakeup = WakeupBreakdown { at, latency, cpu: Some(0), parts: Vec::new() };
        let (thread, process) = ("w".into(), "p".into());
        LateWakeup { condition: 0, tid: 7, pid: 6, thread, process, idle_cpu: None, wakeup }
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
        let window = TimelineWindow::around(late(1_000, 50), Span::from_secs(2));
        let millis = |at: MonotonicTime| at.as_nanos() / 1_000_000;
        assert_eq!((millis(window.from), millis(window.until)), (850, 1_100));
        let short = TimelineWindow::around(late(1_000, 50), Span::from_millis(120));
        assert_eq!(millis(short.from), 980, "what is not remembered is left out");
    }

    #[test]
    fn what_was_late_in_it_is_named_the_latest_first() {
        let mut window = TimelineWindow::around(late(1_000, 50), Span::from_secs(2));
        assert_eq!(window.add(late(1_050, 70)), None);
        assert_eq!(window.add(late(1_060, 20)), None);
        assert_eq!(window.add(late(840, 80)), None, "told late, and over before");
        assert_eq!(window.add(late(1_101, 900)), Some(late(1_101, 900)), "it is over by then");
        let named: Vec<i64> =
            window.late.iter().map(|late_wakeup| late_wakeup.wakeup.latency.as_nanos() / 1_000_000).collect();
        assert_eq!(named, [70, 50, 20]);
        assert_eq!(window.worst().1, Span::from_millis(70));
        assert_eq!(window.add(late(1_070, 7)), None);
        assert_eq!(window.add(late(1_080, 6)), None);
        window.leave_out_the_mild();
        assert_eq!(window.late.len(), 4, "a tenth is late as well");
        (0..100).for_each(|_| drop(window.add(late(1_000, 1))));
        assert_eq!(window.late.len(), MAX_LISTED);
    }
}
