//! `--howlate-out`: howlate's recording of the run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::Analysis;
use howlate_model::{Caveat, EndReason, Line, Turn, WaitClock};
use howlate_rt_tests::cyclictest::{CyclictestOptions, conditions};

use crate::cyclictest::error::CyclictestError;
use crate::output::Streams;
use howlate_session::{Environment, Recorder, header};

/// A recording of the run; does nothing without `--howlate-out`.
pub(crate) struct Recording {
    recorder: Option<Recorder<Analysis>>,
    streams: Streams,
}

impl Recording {
    /// Examines the machine and writes the header.
    pub(crate) fn begin(
        options: &CyclictestOptions,
        turn: &Turn,
        interrupted: &Arc<AtomicBool>,
        streams: Streams,
    ) -> Result<Self, CyclictestError> {
        let Some(path) = &options.howlate_out else { return Ok(Self { recorder: None, streams }) };
        let environment = Environment::read();
        let conditions = conditions(turn, &environment.system.kernel);
        let header = header("cyclic", 0, &environment, conditions);
        let mut recorder = Recorder::begin(header, Some(path), interrupted)?;
        if options.clock == WaitClock::Realtime {
            recorder.caveat(Caveat::RealtimeClock);
        }
        Ok(Self { recorder: Some(recorder), streams })
    }

    pub(crate) fn add(&mut self, line: &Line) {
        if let Some(recorder) = &mut self.recorder {
            recorder.keep(line);
        }
    }

    /// Ends the recording, and warns if lines are missing.
    pub(crate) fn end(self, reason: EndReason) {
        let caveats = self.recorder.map_or_else(Vec::new, |recorder| recorder.end(Some(reason)).caveats);
        let incomplete = caveats.iter().rev().find_map(|caveat| match caveat {
            Caveat::RecordingIncomplete { lines_lost, reason } => Some((lines_lost, reason)),
            _ => None,
        });
        if let Some((lines_lost, reason)) = incomplete {
            self.streams.say(&format!(
                "WARN: the recording is incomplete, {lines_lost} lines are missing: {reason}\n"
            ));
        }
    }
}
