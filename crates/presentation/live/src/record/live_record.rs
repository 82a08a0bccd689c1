//! The incidents of the whole machine on the whole screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::{Incident, LateAbove, MonotonicTime, Span};

use super::content::Incidents;
use crate::choices::Choices;
use crate::paint_thread::View;
use crate::terminal::Unsuitable;

/// Changes where nothing new has come: a moment has passed.
const EVERY: Span = Span::from_secs(1);

/// Shows on the whole screen what is recorded of the whole machine.
pub struct LiveRecord {
    view: View,
    incidents: Incidents,
    /// Set when what all CPUs have done just now is to be kept.
    timeline: Arc<AtomicBool>,
    marks: Vec<MonotonicTime>,
    shown: MonotonicTime,
}

impl LiveRecord {
    /// Takes the terminal, of which `machine` is said at the top, for waits above `above`, which go into `folder`; `interrupted` is set
    /// when a key asks for the end, `timeline` when one asks for what all CPUs have done just now.
    ///
    /// # Errors
    ///
    /// When the terminal will not do, or there is no thread to be had.
    pub fn begin(
        interrupted: &Arc<AtomicBool>,
        timeline: &Arc<AtomicBool>,
        machine: String,
        (above, folder): (LateAbove, String),
    ) -> Result<Self, Unsuitable> {
        let view = View::begin(interrupted, Choices::new())?;
        let now = clock::now();
        let incidents = Incidents::new(machine, above, folder, now);
        Ok(Self {
            view,
            incidents,
            timeline: Arc::clone(timeline),
            marks: Vec::new(),
            shown: MonotonicTime::default(),
        })
    }

    /// Shows what has come since the last time; `lost` of all were not kept.
    pub fn show(&mut self, new: &[Incident], lost: u64) {
        let now = clock::now();
        let wishes = self.view.wishes();
        self.marks.extend(&wishes.marks);
        self.incidents.marked(wishes.marks.len());
        if wishes.timeline {
            self.timeline.store(true, Ordering::Relaxed);
        }
        if new.is_empty() && now.since(self.shown) < EVERY {
            return;
        }
        self.shown = now;
        self.incidents.take(new, lost, now);
        self.view.show(Box::new(self.incidents.clone()), None);
    }

    /// Moments that somebody has marked since the last time.
    pub fn marks(&mut self) -> Vec<MonotonicTime> {
        std::mem::take(&mut self.marks)
    }
}
