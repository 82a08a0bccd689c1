//! What happens while the threads measure.

use std::io;
use std::sync::atomic::Ordering;

use howlate_model::{Caveat, EndReason, Line, Sink, ThreadProgress, TurnStarted, Wakeup};
use howlate_rt_tests::cyclictest::{Options, Results, stat_lines, status_text};

use crate::cyclictest::failure::Failure;
use crate::cyclictest::fifo::Fifo;
use crate::cyclictest::recording::Recording;
use crate::cyclictest::screen::Screen;
use crate::cyclictest::signals::Signals;
use crate::cyclictest::snapshot_file::StatusFile;
use crate::streams::Streams;

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
    streams: Streams,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        options: &Options,
        results: Results,
        signals: &'a Signals,
        recording: Recording,
        streams: Streams,
    ) -> Result<Self, Failure> {
        let warn = |error: io::Error, what: &str| streams.say(&format!("WARN: {what}: {error}\n"));
        let status = StatusFile::create().map_err(|error| warn(error, "no file for SIGUSR2")).ok();
        let fifo = options.fifo.as_ref().and_then(|path| {
            let failed = |error| warn(error, &format!("Error creating fifo {}", path.display()));
            Fifo::serve(path).map_err(failed).ok()
        });
        let screen = Screen::new(options, streams);
        let values = options.verbose;
        Ok(Self {
            results,
            signals,
            recording,
            status,
            fifo,
            screen,
            values,
            lost: 0,
            failure: None,
            streams,
        })
    }

    /// Shows what there is before any thread has started.
    pub(crate) fn begin(&mut self) {
        self.show();
        self.store_status();
    }

    /// Ends the recording; returns what was counted.
    pub(crate) fn end(self, how: EndReason) -> Result<Results, Failure> {
        self.screen.as_ref().map_or(Ok(()), Screen::leave)?;
        if self.lost > 0 {
            self.streams
                .say(&format!("WARN: {} wake-ups came faster than they could be counted\n", self.lost));
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
            self.streams.print(&self.results.take_values())?;
        }
        self.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&self.results))
    }

    fn store_status(&self) {
        let stored = self.status.as_ref().map(|file| file.store(&status_text(&self.results)));
        if let Some(Err(error)) = stored {
            self.streams.say(&format!("WARN: cannot write the status for SIGUSR2: {error}\n"));
        }
    }

    fn started(&mut self, started: &TurnStarted) {
        self.results.started(started.condition as usize, started.in_force.tid);
        for caveat in &started.caveats {
            match caveat {
                Caveat::PolicyRefused { asked, .. } => {
                    let priority = asked.priority().map_or(0, howlate_model::Priority::get);
                    let thread = started.condition;
                    self.fail(Failure::Priority { thread, priority });
                }
                Caveat::AffinityDiffers { asked, .. } => {
                    self.streams.say(&format!("WARN: Could not set CPU affinity to CPU #{asked}\n"));
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
                if let Some(error) = &finished.error {
                    let (thread, reason) = (finished.condition, error.to_string());
                    self.fail(Failure::Thread { thread, reason });
                }
            }
            _ => {}
        }
        self.recording.keep(&line);
    }

    fn progress(&mut self, _: &[ThreadProgress]) {
        self.show();
        if self.signals.take_print() {
            self.streams.say(&status_text(&self.results));
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
