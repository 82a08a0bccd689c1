//! `--howlate-out`: a recording beside the text.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::Analysis;
use howlate_cyclictest::{Options, conditions};
use howlate_model::{Caveat, HowEnded, Line, Turn, WaitClock};

use super::failure::Failure;
use crate::terminal::say;
use howlate_session::Environment;
use howlate_session::{Recorder, header};

/// A recording of the run, if one was asked for.
pub(crate) struct Recording(Option<Recorder<Analysis>>);

impl Recording {
    /// Looks at the machine and writes the header.
    pub(crate) fn begin(
        options: &Options,
        turn: &Turn,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let Some(path) = &options.howlate_out else { return Ok(Self(None)) };
        let environment = Environment::read();
        let conditions = conditions(turn, &environment.system.kernel);
        let header = header("cyclic", 0, &environment, conditions);
        let mut recorder = Recorder::begin(header, Some(path), interrupted)?;
        if options.clock == WaitClock::Realtime {
            recorder.caveat(Caveat::RealtimeClock);
        }
        Ok(Self(Some(recorder)))
    }

    /// Adds a line.
    pub(crate) fn keep(&mut self, line: &Line) {
        if let Some(recorder) = &mut self.0 {
            recorder.keep(line);
        }
    }

    /// Adds the end.
    pub(crate) fn end(self, how: HowEnded) {
        let caveats = self.0.map_or_else(Vec::new, |recorder| recorder.end(Some(how)).caveats);
        let incomplete = caveats.iter().rev().find_map(|caveat| match caveat {
            Caveat::RecordingIncomplete { lines_lost, reason } => Some((lines_lost, reason)),
            _ => None,
        });
        if let Some((lines_lost, reason)) = incomplete {
            say(&format!("WARN: the recording is incomplete, {lines_lost} lines are missing: {reason}\n"));
        }
    }
}
