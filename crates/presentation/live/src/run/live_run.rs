//! A run that is shown: what the session knows so far becomes a screen four times a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_model::MonotonicTime;
use howlate_render::{Screen, SoFar};

use super::recent::Recent;
use super::summary::{Baseline, screenful};
use crate::choices::Choices;
use crate::paint_thread::View;
use crate::terminal::Unsuitable;

/// Shows a run on the whole screen.
pub struct LiveRun {
    view: View,
    recent: Recent,
    baseline: Option<Baseline>,
    marks: Vec<MonotonicTime>,
    /// Set when what all CPUs have done just now is to be kept, where that is remembered.
    timeline: Option<Arc<AtomicBool>>,
}

impl LiveRun {
    /// Takes the terminal; `interrupted` is set when a key asks for the end.
    ///
    /// # Errors
    ///
    /// When the terminal will not do, or there is no thread to be had.
    pub fn begin(interrupted: &Arc<AtomicBool>) -> Result<Self, Unsuitable> {
        let view = View::begin(interrupted, Choices::new())?;
        Ok(Self { view, recent: Recent::default(), baseline: None, marks: Vec::new(), timeline: None })
    }

    /// The same with a key that sets `timeline` when what all CPUs have done just now is to be kept; `None`: it is not remembered.
    #[must_use]
    pub fn with_timelines(self, timeline: Option<Arc<AtomicBool>>) -> Self {
        Self { timeline, ..self }
    }
}

impl Screen for LiveRun {
    fn show(&mut self, _text: &str) {}

    fn clear(&mut self) {
        self.view.end();
    }

    fn width(&self) -> usize {
        0
    }

    fn draw(&mut self, run: &SoFar<'_>) -> bool {
        self.recent.look(run.analysis);
        let wishes = self.view.wishes();
        if wishes.reset {
            self.baseline = Some(Baseline::of(run.analysis));
        }
        self.marks.extend(wishes.marks);
        if let Some(asked) = self.timeline.as_ref().filter(|_| wishes.timeline) {
            asked.store(true, Ordering::Relaxed);
        }
        let mut next = screenful(run, self.view.asked(), self.baseline.as_ref(), &self.recent);
        next.can_write_timelines = self.timeline.is_some();
        self.view.show(Box::new(next), run.away);
        true
    }

    fn marks(&mut self) -> Vec<MonotonicTime> {
        std::mem::take(&mut self.marks)
    }
}
