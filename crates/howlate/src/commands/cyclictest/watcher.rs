//! What happens while the threads measure.

use std::io;
use std::sync::atomic::Ordering;

use howlate_cyclictest::{Options, Results, live_text, stat_lines, status_text};
use howlate_measure::{Progress, Sink};
use howlate_model::{Caveat, HowEnded, Line, Started, Wakeup};

use super::failure::Failure;
use super::fifo::Fifo;
use super::recording::Recording;
use super::signals::Signals;
use super::status_file::StatusFile;
use crate::terminal::{print_as_is, say};

/// Counts wake-ups, keeps the screen, answers signals.
pub(crate) struct Watcher<'a> {
    results: Results,
    signals: &'a Signals,
    recording: Recording,
    status: Option<StatusFile>,
    fifo: Option<Fifo>,
    screen: Option<Screen>,
    values: bool,
    /// Wake-ups that were measured but did not get here.
    lost: u64,
    failure: Option<Failure>,
}

/// The live screen.
struct Screen {
    /// Draw only when this is exceeded, if only then.
    above: Option<i64>,
    /// Lines to step up before drawing again.
    lines: usize,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        options: &Options,
        results: Results,
        signals: &'a Signals,
        recording: Recording,
    ) -> Result<Self, Failure> {
        let warn = |error: io::Error, what: &str| say(&format!("WARN: {what}: {error}\n"));
        let status = StatusFile::create().map_err(|error| warn(error, "no file for SIGUSR2")).ok();
        let fifo = options.fifo.as_ref().and_then(|path| {
            let failed = |error| warn(error, &format!("Error creating fifo {}", path.display()));
            Fifo::serve(path).map_err(failed).ok()
        });
        let screen = (!options.quiet && !options.verbose)
            .then(|| Screen { above: options.refresh_on_max.then_some(i64::MIN), lines: 0 });
        let values = options.verbose;
        Ok(Self { results, signals, recording, status, fifo, screen, values, lost: 0, failure: None })
    }

    /// Shows what there is before any thread has started.
    pub(crate) fn begin(&mut self) {
        self.show();
        self.store_status();
    }

    /// Ends the recording; returns what was counted.
    pub(crate) fn end(self, how: HowEnded) -> Result<Results, Failure> {
        if let Some(Screen { above: Some(_), lines }) = self.screen {
            // With `-M` the original leaves the cursor above the screen until the end.
            print_as_is(&format!("\x1b[{lines}A\x1b[{lines}B\n"))?;
        }
        if self.lost > 0 {
            say(&format!("WARN: {} wake-ups came faster than they could be counted\n", self.lost));
        }
        self.recording.end(how);
        self.failure.map_or(Ok(self.results), Err)
    }

    fn show(&mut self) {
        if let Some(fifo) = &self.fifo {
            fifo.set(stat_lines(&self.results));
        }
        if self.failure.is_none()
            && let Err(error) = self.print()
        {
            self.fail(error.into());
        }
    }

    fn print(&mut self) -> io::Result<()> {
        if self.values {
            print_as_is(&self.results.take_values())?;
        }
        self.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&self.results))
    }

    fn store_status(&self) {
        let stored = self.status.as_ref().map(|file| file.store(&status_text(&self.results)));
        if let Some(Err(error)) = stored {
            say(&format!("WARN: cannot write the status for SIGUSR2: {error}\n"));
        }
    }

    fn started(&mut self, started: &Started) {
        self.results.started(started.condition as usize, started.in_force.tid);
        for caveat in &started.caveats {
            match caveat {
                Caveat::PolicyRefused { asked, .. } => {
                    let priority = asked.split(':').nth(1).and_then(|priority| priority.parse().ok());
                    let (thread, priority) = (started.condition, priority.unwrap_or(0));
                    self.fail(Failure::Priority { thread, priority });
                }
                Caveat::AffinityDiffers { asked, .. } => {
                    say(&format!("WARN: Could not set CPU affinity to CPU #{asked}\n"));
                }
                _ => {}
            }
        }
    }

    /// Ends the run.
    fn fail(&mut self, failure: Failure) {
        self.signals.interrupted().store(true, Ordering::Relaxed);
        self.failure.get_or_insert(failure);
    }
}

impl Sink for Watcher<'_> {
    fn line(&mut self, line: Line) {
        match &line {
            Line::Started(started) => self.started(started),
            Line::Block(block) => self.lost += block.lost,
            Line::Finished(finished) => {
                if let Some(reason) = finished.error.clone() {
                    self.fail(Failure::Thread { thread: finished.condition, reason });
                }
            }
            _ => {}
        }
        self.recording.write(line);
    }

    fn progress(&mut self, _: &[Progress]) {
        self.show();
        if self.signals.take_print() {
            say(&status_text(&self.results));
        }
        if self.signals.take_store() {
            self.store_status();
        }
    }

    fn wants_wakeups(&self) -> bool {
        true
    }

    fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        self.results.add(thread, wakeups);
    }
}

impl Screen {
    fn draw(&mut self, results: &Results) -> io::Result<()> {
        if let Some(above) = &mut self.above {
            if results.max() <= *above {
                return Ok(());
            }
            *above = results.max();
        }
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let text = live_text(results, &load);
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        self.lines = text.lines().count();
        print_as_is(&format!("{up}{text}"))
    }
}
