//! Processes wake-ups and signals during the run.

use std::io;
use std::sync::atomic::Ordering;

use howlate_model::{Caveat, EndReason, Line, Sink, ThreadProgress, TurnStarted, Wakeup};
use howlate_rt_tests::cyclictest::{CyclictestOptions, CyclictestResults, stat_lines, status_text};

use crate::cyclictest::error::CyclictestError;
use crate::cyclictest::fifo::Fifo;
use crate::cyclictest::recording::Recording;
use crate::cyclictest::screen::CyclictestScreen;
use crate::cyclictest::signals::Signals;
use crate::cyclictest::status_file::StatusFile;
use crate::output::Streams;

/// Counts wake-ups, updates the screen, and responds to signals.
pub(crate) struct Watcher<'a> {
    results: CyclictestResults,
    signals: &'a Signals,
    recording: Recording,
    status: Option<StatusFile>,
    fifo: Option<Fifo>,
    screen: Option<CyclictestScreen>,
    /// `-v`: print each value.
    prints_values: bool,
    /// Wake-ups that were measured but could not be counted.
    lost: u64,
    /// The first error, which ends the run.
    error: Option<CyclictestError>,
    streams: Streams,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        options: &CyclictestOptions,
        results: CyclictestResults,
        signals: &'a Signals,
        recording: Recording,
        streams: Streams,
    ) -> Result<Self, CyclictestError> {
        let warn = |error: io::Error, problem: &str| streams.say(&format!("WARN: {problem}: {error}\n"));
        let status = StatusFile::create().map_err(|error| warn(error, "no file for SIGUSR2")).ok();
        let fifo = options.fifo.as_ref().and_then(|path| {
            let failed = |error| warn(error, &format!("Error creating fifo {}", path.display()));
            Fifo::serve(path).map_err(failed).ok()
        });
        let screen = CyclictestScreen::new(options, streams);
        Ok(Self {
            results,
            signals,
            recording,
            status,
            fifo,
            screen,
            prints_values: options.verbose,
            lost: 0,
            error: None,
            streams,
        })
    }

    /// Shows and stores the initial state, before any thread has started.
    pub(crate) fn begin(&mut self) {
        self.show();
        self.store_status();
    }

    /// Ends the recording; returns the results.
    pub(crate) fn end(self, reason: EndReason) -> Result<CyclictestResults, CyclictestError> {
        self.screen.as_ref().map_or(Ok(()), CyclictestScreen::leave)?;
        if self.lost > 0 {
            self.streams
                .say(&format!("WARN: {} wake-ups came faster than they could be counted\n", self.lost));
        }
        self.recording.end(reason);
        self.error.map_or(Ok(self.results), Err)
    }

    fn show(&mut self) {
        if let Some(fifo) = &self.fifo {
            fifo.set_text(stat_lines(&self.results));
        }
        if self.error.is_none()
            && let Err(error) = self.print()
        {
            self.fail(error.into());
        }
    }

    fn print(&mut self) -> io::Result<()> {
        if self.prints_values {
            self.streams.print(&self.results.take_values())?;
        }
        self.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&self.results))
    }

    fn store_status(&self) {
        let result = self.status.as_ref().map(|file| file.store(&status_text(&self.results)));
        if let Some(Err(error)) = result {
            self.streams.say(&format!("WARN: cannot write the status for SIGUSR2: {error}\n"));
        }
    }

    fn started(&mut self, started: &TurnStarted) {
        self.results.set_tid(started.condition as usize, started.in_force.tid);
        for caveat in &started.caveats {
            match caveat {
                Caveat::PolicyRefused { asked, .. } => {
                    let priority = asked.priority().map_or(0, howlate_model::Priority::get);
                    let thread = started.condition;
                    self.fail(CyclictestError::Priority { thread, priority });
                }
                Caveat::AffinityDiffers { asked, .. } => {
                    self.streams.say(&format!("WARN: Could not set CPU affinity to CPU #{asked}\n"));
                }
                _ => {}
            }
        }
    }

    /// Ends the run with this error, unless there is an earlier one.
    fn fail(&mut self, error: CyclictestError) {
        self.signals.interrupted().store(true, Ordering::Relaxed);
        self.error.get_or_insert(error);
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
                    self.fail(CyclictestError::Thread { thread, reason });
                }
            }
            _ => {}
        }
        self.recording.add(&line);
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
