//! The live screen.

use std::io;

use howlate_procfs::{LoadAverage, Root};
use howlate_rt_tests::cyclictest::{Options, Results, live_text};

use crate::streams::Streams;

/// Statistics that are drawn over the last ones.
pub(crate) struct Screen {
    /// Draw only when this is exceeded, if only then.
    above: Option<i64>,
    /// Lines to step up before drawing again.
    lines: usize,
    streams: Streams,
}

impl Screen {
    /// A screen, unless `-q` or `-v` asks for something else.
    pub(crate) fn new(options: &Options, streams: Streams) -> Option<Self> {
        let watched = !options.quiet && !options.verbose;
        watched.then(|| Self { above: options.refresh_on_max.then_some(i64::MIN), lines: 0, streams })
    }

    /// Draws it, if there is reason to.
    pub(crate) fn draw(&mut self, results: &Results) -> io::Result<()> {
        if let Some(above) = &mut self.above {
            if results.max() <= *above {
                return Ok(());
            }
            *above = results.max();
        }
        let load = LoadAverage::read(&Root::live());
        let text = live_text(results, load.line());
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        self.lines = text.lines().count();
        self.streams.print(&format!("{up}{text}"))
    }

    /// With `-M` the original leaves the cursor above the screen, and moves it at the end.
    pub(crate) fn leave(&self) -> io::Result<()> {
        match (self.above, self.lines) {
            (Some(_), lines) => self.streams.print(&format!("\x1b[{lines}A\x1b[{lines}B\n")),
            (None, _) => Ok(()),
        }
    }
}
