//! Timeline files beside the recording: those of the worst wake-ups, which replace milder ones, and requested ones.

use howlate_linux::clock;
use howlate_model::{CpuTimeline, LateWakeup, MonotonicTime, Span, TimelineFile, WaitClock};
use howlate_recording::{
    LateLanes, TimelineFiles, TimelineQuota, WorstTimelines, compact, date_and_time, timeline_text,
};

use super::window::TimelineWindow;

/// Maximum number of requested timelines.
const MAX_REQUESTED: usize = 100;
/// The worst wake-ups are those of the whole run.
const OF_THE_RUN: Span = Span::from_nanos(u64::MAX);

/// Timeline files of a run.
#[derive(Debug)]
pub(super) struct RunTimelines {
    beside: TimelineFiles,
    worst: WorstTimelines,
    asked_for: usize,
    not_written: u64,
}

impl RunTimelines {
    /// Keeps the `most` worst wake-ups.
    pub(super) fn new(beside: TimelineFiles, most: usize) -> Self {
        let worst = WorstTimelines::new(TimelineQuota { count: most, each: OF_THE_RUN });
        Self { beside, worst, asked_for: 0, not_written: 0 }
    }

    /// Lateness of the mildest kept wake-up, if the number is reached.
    pub(super) fn least(&self) -> Option<Span> {
        self.worst.least()
    }

    /// Whether a wake-up that was `late` is one of the worst.
    pub(super) fn is_one(&mut self, late: Span, now: MonotonicTime) -> bool {
        self.worst.is_among_worst(late, now)
    }

    /// Number of files that could not be written.
    pub(super) const fn not_written(&self) -> u64 {
        self.not_written
    }

    /// Counts a file that cannot be written.
    pub(super) fn fail(&mut self) {
        self.not_written = self.not_written.saturating_add(1);
    }

    /// Writes the timeline of one of the worst wake-ups.
    pub(super) fn keep(&mut self, window: TimelineWindow, now: MonotonicTime) -> Option<TimelineFile> {
        let ((at, latest), until) = (window.worst(), window.until.min(now));
        let text = timeline_text(window.cpus().unwrap_or_default(), &lanes(&window.late));
        let file = self.put(&compact(&day(at)), &text)?;
        let replaces = self.worst.add(latest, now, file.clone());
        replaces.iter().for_each(|name| self.beside.remove(name));
        Some(TimelineFile { file, at: day(until), from: window.from, until, late: window.late, replaces })
    }

    /// Whether another timeline may be requested.
    pub(super) const fn has_room_for_another(&self) -> bool {
        self.asked_for < MAX_REQUESTED
    }

    /// Writes a requested timeline.
    pub(super) fn snap(
        &mut self,
        from: MonotonicTime,
        until: MonotonicTime,
        cpus: &[CpuTimeline],
    ) -> Option<TimelineFile> {
        let at = day(until);
        let text = timeline_text(cpus, &LateLanes::default());
        let file = self.put(&format!("{}-snap", compact(&at)), &text)?;
        self.asked_for = self.asked_for.saturating_add(1);
        Some(TimelineFile { file, at, from, until, late: Vec::new(), replaces: None })
    }

    fn put(&mut self, moment: &str, text: &str) -> Option<String> {
        let written = self.beside.write(moment, text);
        if written.is_err() {
            self.fail();
        }
        written.ok()
    }
}

/// Date and time of a moment.
fn day(at: MonotonicTime) -> String {
    date_and_time(at, clock::offset_from_monotonic(WaitClock::Realtime))
}

/// One lane for each late wake-up.
fn lanes(late: &[LateWakeup]) -> LateLanes<'_> {
    let name = |late_wakeup: &LateWakeup| {
        format!("{} ({}), {} late", late_wakeup.thread, late_wakeup.tid, late_wakeup.wakeup.latency)
    };
    LateLanes {
        title: "late",
        lanes: late
            .iter()
            .map(|late_wakeup| (name(late_wakeup), late_wakeup.wakeup.parts.as_slice()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::testing::late;
    use super::*;

    fn at(ms: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_worst_replace_the_mildest_and_what_was_asked_for_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = RunTimelines::new(TimelineFiles::of(&folder.path().join("run.jsonl")).unwrap(), 2);
        let mut keep = |ran: i64, ms: i64| {
            let window = TimelineWindow::around(late(ran, ms), Span::from_secs(2));
            assert!(files.is_one(Span::from_millis(ms.unsigned_abs()), at(ran)));
            files.keep(window, at(ran + 20)).unwrap()
        };
        let mild = keep(1_000, 5);
        let worse = keep(2_000, 9);
        assert_eq!((mild.replaces, mild.until, mild.late[0].tid), (None, at(1_020), 7), "no later than now");
        let worst = keep(3_000, 7);
        assert_eq!(worst.replaces, Some(mild.file));
        assert_eq!(files.least(), Some(Span::from_millis(7)));
        let asked_for = files.snap(at(3_000), at(4_000), &[]).unwrap();
        assert!(asked_for.file.ends_with("-snap.trace.json") && asked_for.late.is_empty());
        let mut there: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut expected = vec![worse.file, worst.file, asked_for.file];
        there.sort();
        expected.sort();
        assert_eq!(there, expected);
    }

    #[test]
    fn so_many_may_be_asked_for_and_what_fails_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = RunTimelines::new(TimelineFiles::of(&folder.path().join("run.jsonl")).unwrap(), 2);
        for number in 0..100 {
            assert!(files.has_room_for_another());
            files.snap(at(0), at(number), &[]).unwrap();
        }
        assert!(!files.has_room_for_another());
        assert_eq!(files.not_written(), 0);
        drop(folder);
        assert_eq!(files.keep(TimelineWindow::around(late(1_000, 5), Span::from_secs(2)), at(1_000)), None);
        assert_eq!(files.not_written(), 1);
    }
}
