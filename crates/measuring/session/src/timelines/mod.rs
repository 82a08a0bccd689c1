//! What all CPUs did around late wake-ups, kept beside the recording: the last seconds are remembered in the kernel, and written
//! where a wake-up was one of the worst of the run, or somebody asks.
//!
//! ```text
//! ring      ……………………………………………………………………………………………………………………… now
//! wake-up                 due      ran
//! file            |-100 ms-|--------|-100 ms-|      written when it is over
//! ```

mod files;
mod keep;
mod names;
mod window;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::{
    Caveat, CpuTimeline, LateWakeup, Line, MonotonicTime, Span, TimelineFile, TracerRefusal, WakeupBreakdown,
};
use howlate_procfs::Root;
use howlate_recording::Beside;
use howlate_trace::CpuHistory;

use self::files::Files;
pub use self::keep::Keep;
use self::names::Names;
use self::window::{Window, lateness};

/// Keeps them.
pub struct Timelines {
    history: CpuHistory,
    files: Files,
    remembered: Span,
    /// Whether it is filled.
    runs: bool,
    /// Which wake-ups are late, if that was said; otherwise those that are among the worst.
    above: Option<Span>,
    window: Option<Window>,
    /// The latest of those that came after it and before it was written.
    next: Option<LateWakeup>,
    names: Names,
    /// Set by whoever wants what all CPUs have done just now.
    asked: Arc<AtomicBool>,
    too_late: u64,
}

impl Timelines {
    /// Prepares to keep those of a run that is recorded in this file; `asked` is set by whoever wants one now. What is to be
    /// said where there will be none.
    ///
    /// # Errors
    ///
    /// When there is no such file, or the kernel refuses it.
    pub fn begin(
        keep: Keep,
        above: Option<Span>,
        recording: Option<&Path>,
        asked: &Arc<AtomicBool>,
    ) -> Result<Self, Box<Caveat>> {
        let beside = recording.and_then(Beside::of).ok_or(Caveat::TimelinesWithoutFile)?;
        let history = CpuHistory::load(keep.length)
            .map_err(|reason| Caveat::TimelinesRefused { reason: reason.into() })?;
        Ok(Self {
            history,
            files: Files::new(beside, keep.most),
            remembered: keep.length,
            runs: false,
            above,
            window: None,
            next: None,
            names: Names::below(Root::live()),
            asked: Arc::clone(asked),
            too_late: 0,
        })
    }

    /// Begins to remember; requests from before are void.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn start(&mut self) -> Result<(), Box<Caveat>> {
        self.asked.store(false, Ordering::Relaxed);
        self.history.start().map_err(|reason| Caveat::TimelinesRefused { reason: reason.into() })?;
        self.runs = true;
        Ok(())
    }

    /// There is a thread of which something may be told: of this process and of that name, or as can be looked up now.
    pub fn meet(&mut self, tid: u32, called: Option<(u32, &str)>) {
        self.names.meet(tid, called);
    }

    /// Which wake-ups are to be told of: later than this.
    pub fn late_above(&self) -> Span {
        self.above.or_else(|| self.files.least()).unwrap_or(Span::ZERO)
    }

    /// A thread of `condition` was late.
    pub fn saw(&mut self, condition: u32, tid: u32, wakeup: &WakeupBreakdown, now: MonotonicTime) {
        if !self.runs || lateness(wakeup.latency) <= self.late_above() {
            return;
        }
        let one = self.names.name(condition, tid, wakeup);
        match &mut self.window {
            Some(window) => {
                let later = window.add(one).into_iter().chain(self.next.take());
                self.next = later.max_by_key(|one| one.wakeup.latency);
            }
            None => self.open(one, now),
        }
    }

    /// Keeps the time around this one, if it is one of the worst.
    fn open(&mut self, one: LateWakeup, now: MonotonicTime) {
        if self.files.is_one(lateness(one.wakeup.latency), now) {
            let mut window = Window::around(one, self.remembered);
            // By the time it is over, a busy CPU may have forgotten what it did before.
            if let Ok(cpus) = self.history.timeline(window.from, window.until) {
                window.remembered.add(cpus);
            }
            self.window = Some(window);
        }
    }

    /// Writes what is due: the lines of the recording that name it.
    pub fn look(&mut self, now: MonotonicTime) -> Vec<Line> {
        let asked = self.asked.swap(false, Ordering::Relaxed) && self.runs;
        let asked = asked.then(|| self.snap(now)).flatten();
        asked.map(line).into_iter().chain(self.write_those_before(now, now)).collect()
    }

    /// Remembers no more: writes what there is.
    pub fn stop(&mut self, now: MonotonicTime) -> Vec<Line> {
        let lines = self.write_those_before(MonotonicTime::from_nanos(i64::MAX), now);
        self.history.stop();
        self.runs = false;
        lines
    }

    /// Writes the windows that end until then, one after the other.
    fn write_those_before(&mut self, until: MonotonicTime, now: MonotonicTime) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(window) = self.window.take_if(|window| until >= window.until) {
            lines.extend(self.write(window, now).map(line));
            self.names.forget();
            if let Some(next) = self.next.take() {
                self.open(next, now);
            }
        }
        lines
    }

    /// What is to be said of them at the end.
    pub fn missing(&self) -> Option<Caveat> {
        let (too_late, not_written) = (self.too_late, self.files.not_written());
        (too_late + not_written > 0).then_some(Caveat::TimelinesMissing { too_late, not_written })
    }

    fn write(&mut self, mut window: Window, now: MonotonicTime) -> Option<TimelineFile> {
        let cpus = self.read(window.from, window.until)?;
        window.remembered.add(cpus);
        if window.cpus().is_none() {
            self.too_late += 1;
            return None;
        }
        if self.above.is_none() {
            window.leave_out_the_mild();
        }
        self.files.keep(window, now)
    }

    /// What all CPUs have done just now, as far as it is remembered.
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

fn line(one: TimelineFile) -> Line {
    Line::Timeline(Box::new(one))
}
