//! The live view of a recording of the whole machine.

mod content;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::{Incident, LateThreshold, MonotonicTime, Span};

use self::content::IncidentLog;
use crate::choices::Choices;
use crate::paint_thread::LiveScreen;
use crate::terminal::UnsuitableTerminal;

/// Redraws at least this often, as time passes without new incidents.
const EVERY: Span = Span::from_secs(1);

/// Live view of a recording of the whole machine.
pub struct LiveRecord {
    screen: LiveScreen,
    incidents: IncidentLog,
    /// Set when a key requests the recent activity of all CPUs.
    timeline: Arc<AtomicBool>,
    marks: Vec<MonotonicTime>,
    /// Time of the last update.
    updated: MonotonicTime,
}

impl LiveRecord {
    /// Takes the terminal. `machine` stands in the header, `above` and `folder` in the last line. Sets `interrupted` when a key requests
    /// the end, and `timeline` when one requests the recent activity of all CPUs.
    ///
    /// # Errors
    ///
    /// When the terminal is unsuitable, or no thread can be started.
    pub fn begin(
        interrupted: &Arc<AtomicBool>,
        timeline: &Arc<AtomicBool>,
        machine: String,
        (above, folder): (LateThreshold, String),
    ) -> Result<Self, UnsuitableTerminal> {
        let screen = LiveScreen::begin(interrupted, Choices::new())?;
        let now = clock::now();
        let incidents = IncidentLog::new(machine, above, folder, now);
        Ok(Self {
            screen,
            incidents,
            timeline: Arc::clone(timeline),
            marks: Vec::new(),
            updated: MonotonicTime::default(),
        })
    }

    /// Shows the new incidents; `lost` is the total of incidents left out or lost.
    pub fn show(&mut self, new: &[Incident], lost: u64) {
        let now = clock::now();
        let requests = self.screen.requests();
        self.marks.extend(&requests.marks);
        self.incidents.add_marks(requests.marks.len());
        if requests.timeline {
            self.timeline.store(true, Ordering::Relaxed);
        }
        if new.is_empty() && now.since(self.updated) < EVERY {
            return;
        }
        self.updated = now;
        self.incidents.add(new, lost, now);
        self.screen.show(Box::new(self.incidents.clone()), None);
    }

    /// Marks set by key since the last call.
    pub fn marks(&mut self) -> Vec<MonotonicTime> {
        std::mem::take(&mut self.marks)
    }
}
