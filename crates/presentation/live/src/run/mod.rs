//! The live view of a run: the screen is made anew four times a second.

mod detail;
mod recent;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::MonotonicTime;
use howlate_render::{RunState, Screen};

use self::recent::RecentWakeups;
use self::summary::{Baseline, screenful};
use crate::choices::Choices;
use crate::paint_thread::LiveScreen;
use crate::terminal::UnsuitableTerminal;

/// Live view of a run.
pub struct LiveRun {
    screen: LiveScreen,
    recent: RecentWakeups,
    baseline: Option<Baseline>,
    marks: Vec<MonotonicTime>,
    /// Set when a key requests the recent activity of all CPUs; `None` where it is not recorded.
    timeline: Option<Arc<AtomicBool>>,
}

impl LiveRun {
    /// Takes the terminal; `interrupted` is set when a key requests the end.
    ///
    /// # Errors
    ///
    /// When the terminal is unsuitable, or no thread can be started.
    pub fn begin(interrupted: &Arc<AtomicBool>) -> Result<Self, UnsuitableTerminal> {
        let screen = LiveScreen::begin(interrupted, Choices::new())?;
        Ok(Self {
            screen,
            recent: RecentWakeups::default(),
            baseline: None,
            marks: Vec::new(),
            timeline: None,
        })
    }

    /// Adds a key that sets `timeline`, which requests the recent activity of all CPUs.
    #[must_use]
    pub fn with_timelines(self, timeline: Option<Arc<AtomicBool>>) -> Self {
        Self { timeline, ..self }
    }
}

impl Screen for LiveRun {
    fn show(&mut self, _text: &str) {}

    fn clear(&mut self) {
        self.screen.end();
    }

    fn width(&self) -> usize {
        0
    }

    fn draw(&mut self, run: &RunState<'_>) -> bool {
        self.recent.update(run.analysis);
        let requests = self.screen.requests();
        if requests.reset {
            self.baseline = Some(Baseline::of(run.analysis));
        }
        self.marks.extend(requests.marks);
        if let Some(timeline) = self.timeline.as_ref().filter(|_| requests.timeline) {
            timeline.store(true, Ordering::Relaxed);
        }
        let mut next = screenful(run, self.screen.query(), self.baseline.as_ref(), &self.recent);
        next.can_write_timelines = self.timeline.is_some();
        self.screen.show(Box::new(next), run.away);
        true
    }

    fn marks(&mut self) -> Vec<MonotonicTime> {
        std::mem::take(&mut self.marks)
    }
}
