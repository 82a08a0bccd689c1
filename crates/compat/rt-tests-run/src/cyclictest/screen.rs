//! The live screen.

use std::io;

use howlate_procfs::{LoadAverage, Root};
use howlate_rt_tests::cyclictest::{CyclictestOptions, CyclictestResults, live_text};

use crate::output::Streams;

/// Statistics, redrawn in place.
pub(crate) struct CyclictestScreen {
    /// With `-M`: the largest latency drawn, above which the screen is redrawn.
    drawn_max: Option<i64>,
    /// Number of lines drawn, by which the cursor moves up before the next drawing.
    lines: usize,
    streams: Streams,
}

impl CyclictestScreen {
    /// `None` with `-q` or `-v`.
    pub(crate) fn new(options: &CyclictestOptions, streams: Streams) -> Option<Self> {
        let is_shown = !options.quiet && !options.verbose;
        is_shown.then(|| Self { drawn_max: options.refresh_on_max.then_some(i64::MIN), lines: 0, streams })
    }

    /// Draws the results; with `-M` only if there is a new maximum.
    pub(crate) fn draw(&mut self, results: &CyclictestResults) -> io::Result<()> {
        if let Some(drawn_max) = &mut self.drawn_max {
            if results.max() <= *drawn_max {
                return Ok(());
            }
            *drawn_max = results.max();
        }
        let load = LoadAverage::read(&Root::live());
        let text = live_text(results, load.line());
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        self.lines = text.lines().count();
        self.streams.print(&format!("{up}{text}"))
    }

    /// Moves the cursor below the screen, as the original does with `-M` only.
    pub(crate) fn leave(&self) -> io::Result<()> {
        match (self.drawn_max, self.lines) {
            (Some(_), lines) => self.streams.print(&format!("\x1b[{lines}A\x1b[{lines}B\n")),
            (None, _) => Ok(()),
        }
    }
}
