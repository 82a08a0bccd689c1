//! The live view of `howlate top`.

mod content;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::waits::WaitOrder;
use howlate_model::Span;
use howlate_render::{TopBy, TopReport, TopView};

use self::content::{SampledWait, TopContent, column_of};
use crate::choices::Choices;
use crate::paint_thread::LiveScreen;
use crate::terminal::UnsuitableTerminal;

/// Samples kept of each wait.
const MAX_SAMPLES: usize = 240;

/// Live view of `howlate top`.
pub struct LiveTop {
    screen: LiveScreen,
    view: TopView,
    every: Span,
    machine: String,
    histories: HashMap<u64, Vec<SampledWait>>,
    samples: u64,
}

impl LiveTop {
    /// Takes the terminal. `machine` stands in the header, `view` is the first choice of rows, `every` the time between samples. Sets
    /// `interrupted` when a key requests the end.
    ///
    /// # Errors
    ///
    /// When the terminal is unsuitable, or no thread can be started.
    pub fn begin(
        interrupted: &Arc<AtomicBool>,
        view: TopView,
        every: Span,
        machine: String,
    ) -> Result<Self, UnsuitableTerminal> {
        let mut choices = Choices::new();
        choices.sort = column_of(view.order);
        choices.group_by = TopBy::ALL.iter().position(|by| *by == view.by).unwrap_or(0);
        choices.idle = !view.kinds.is_empty() || view.process.is_some();
        let screen = LiveScreen::begin(interrupted, choices)?;
        let view = TopView { order: WaitOrder::HeldUp, filter: String::new(), ..view };
        Ok(Self { screen, view, every, machine, histories: HashMap::new(), samples: 0 })
    }

    /// Shows the next sample.
    pub fn show(&mut self, top: TopReport) {
        self.samples += 1;
        for by in TopBy::ALL {
            for row in top.rows(&TopView { by, ..self.view.clone() }, true) {
                let waits = self.histories.entry(row.key).or_default();
                waits.push(SampledWait {
                    sample: self.samples,
                    mean: row.sum.mean(),
                    longest: row.sum.longest.max(row.sum.time.min(top.lasted)),
                });
                if waits.len() > MAX_SAMPLES {
                    waits.remove(0);
                }
            }
        }
        let oldest = self.samples.saturating_sub(MAX_SAMPLES as u64);
        self.histories.retain(|_, waits| waits.last().is_some_and(|last| last.sample > oldest));
        let content = TopContent {
            top,
            view: self.view.clone(),
            every: self.every,
            machine: self.machine.clone(),
            samples: self.samples,
            histories: self.histories.clone(),
        };
        self.screen.show(Box::new(content), None);
    }

    /// Restores the terminal.
    pub fn end(&mut self) {
        self.screen.end();
    }
}
