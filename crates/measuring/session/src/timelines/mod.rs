//! Timelines of all CPUs around late wake-ups, kept beside the recording. The kernel holds the last seconds in rings; they are
//! written after one of the worst wake-ups of the run, or on request.
//!
//! ```text
//! ring      ……………………………………………………………………………………………………………………… now
//! wake-up                 due      ran
//! file            |-100 ms-|--------|-100 ms-|      written when it is over
//! ```

mod files;
mod idle_cpu;
mod keep;
pub(crate) mod window;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::sched;
use howlate_model::{
    Caveat, CpuTimeline, LateWakeup, Line, MonotonicTime, Span, TimelineFile, TracerRefusal,
};
use howlate_recording::TimelineFiles;
use howlate_trace::CpuHistory;

use self::files::RunTimelines;
pub use self::keep::Keep;
use self::window::{TimelineWindow, lateness};

/// Keeps timelines.
pub struct Timelines {
    history: CpuHistory,
    files: RunTimelines,
    remembered: Span,
    /// Whether the rings are being filled.
    runs: bool,
    /// Threshold of late wake-ups; `None`: the worst ones count.
    above: Option<Span>,
    window: Option<TimelineWindow>,
    /// The latest wake-up after the window and before it was written.
    next: Option<LateWakeup>,
    /// Set to request a timeline of the last seconds.
    requested: Arc<AtomicBool>,
    too_late: u64,
}

impl Timelines {
    /// Prepares to keep timelines beside the recording; `asked` is set to request one. Without timelines, the error is the
    /// caveat.
    ///
    /// # Errors
    ///
    /// When there is no recording file, or the kernel refuses the rings.
    pub fn begin(
        keep: Keep,
        above: Option<Span>,
        recording: Option<&Path>,
        requested: &Arc<AtomicBool>,
    ) -> Result<Self, Box<Caveat>> {
        let beside = recording.and_then(TimelineFiles::of).ok_or(Caveat::TimelinesWithoutFile)?;
        let history = CpuHistory::load(keep.length)
            .map_err(|reason| Caveat::TimelinesRefused { reason: reason.into() })?;
        Ok(Self {
            history,
            files: RunTimelines::new(beside, keep.most),
            remembered: keep.length,
            runs: false,
            above,
            window: None,
            next: None,
            requested: Arc::clone(requested),
            too_late: 0,
        })
    }

    /// Starts to fill the rings; earlier requests are dropped.
    ///
    /// # Errors
    ///
    /// When the kernel refuses the rings.
    pub fn start(&mut self) -> Result<(), Box<Caveat>> {
        self.requested.store(false, Ordering::Relaxed);
        self.history.start().map_err(|reason| Caveat::TimelinesRefused { reason: reason.into() })?;
        self.runs = true;
        Ok(())
    }

    /// Lateness above which wake-ups must be passed to `saw`.
    pub fn late_above(&self) -> Span {
        self.above.or_else(|| self.files.least()).unwrap_or(Span::ZERO)
    }

    /// Adds a late wake-up.
    pub fn saw(&mut self, late_wakeup: LateWakeup, now: MonotonicTime) {
        if !self.runs || lateness(late_wakeup.wakeup.latency) <= self.late_above() {
            return;
        }
        match &mut self.window {
            Some(window) => {
                let later = window.add(late_wakeup).into_iter().chain(self.next.take());
                self.next = later.max_by_key(|late_wakeup| late_wakeup.wakeup.latency);
            }
            None => self.open(late_wakeup, now),
        }
    }

    /// Opens a window around `one` if it is one of the worst.
    fn open(&mut self, late_wakeup: LateWakeup, now: MonotonicTime) {
        if self.files.is_one(lateness(late_wakeup.wakeup.latency), now) {
            let mut window = TimelineWindow::around(late_wakeup, self.remembered);
            // By the time it is over, a busy CPU may have forgotten what it did before.
            if let Ok(cpus) = self.history.timeline(window.from, window.until) {
                window.remembered.add(cpus);
            }
            self.window = Some(window);
        }
    }

    /// Writes the timelines that are due; returns lines that name them.
    pub fn look(&mut self, now: MonotonicTime) -> Vec<Line> {
        let requested = self.requested.swap(false, Ordering::Relaxed) && self.runs;
        let requested = requested.then(|| self.snap(now)).flatten();
        requested.map(line).into_iter().chain(self.write_those_before(now, now)).collect()
    }

    /// Writes the open window and stops the rings.
    pub fn stop(&mut self, now: MonotonicTime) -> Vec<Line> {
        let lines = self.write_those_before(MonotonicTime::from_nanos(i64::MAX), now);
        self.history.stop();
        self.runs = false;
        lines
    }

    /// Writes all windows that end before `until`.
    fn write_those_before(&mut self, until: MonotonicTime, now: MonotonicTime) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(window) = self.window.take_if(|window| until >= window.until) {
            lines.extend(self.write(window, now).map(line));
            if let Some(next) = self.next.take() {
                self.open(next, now);
            }
        }
        lines
    }

    /// Caveat about timelines that were not written.
    pub fn missing(&self) -> Option<Caveat> {
        let (too_late, not_written) = (self.too_late, self.files.not_written());
        (too_late + not_written > 0).then_some(Caveat::TimelinesMissing { too_late, not_written })
    }

    fn write(&mut self, mut window: TimelineWindow, now: MonotonicTime) -> Option<TimelineFile> {
        let cpus = self.read(window.from, window.until)?;
        window.remembered.add(cpus);
        if window.cpus().is_none() {
            self.too_late += 1;
            return None;
        }
        if self.above.is_none() {
            window.leave_out_the_mild();
        }
        window.find_idle_cpus(|tid| sched::affinity_of(tid).ok());
        self.files.keep(window, now)
    }

    /// Writes a requested timeline of everything in the rings.
    fn snap(&mut self, until: MonotonicTime) -> Option<TimelineFile> {
        if !self.files.has_room_for_another() {
            self.files.fail();
            return None;
        }
        let from = until.minus(self.remembered);
        let cpus = self.read(from, until)?;
        self.files.snap(from, until, &cpus)
    }

    fn read(&mut self, from: MonotonicTime, until: MonotonicTime) -> Option<Vec<CpuTimeline>> {
        let read: Result<_, TracerRefusal> = self.history.timeline(from, until);
        if read.is_err() {
            self.files.fail();
        }
        read.ok()
    }
}

fn line(file: TimelineFile) -> Line {
    Line::Timeline(Box::new(file))
}
