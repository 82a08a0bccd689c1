//! `--howlate-out`: a recording beside the text.

use howlate_cyclictest::{Clock, Options, Power, break_threshold, conditions};
use howlate_linux::clock;
use howlate_model::{Caveat, End, HowEnded, Line, Turn};
use howlate_plan::Plan;
use howlate_record::Writer;

use super::failure::Failure;
use crate::session::{Request, Surroundings, header};
use crate::terminal::say;

/// A recording of the run, if one was asked for.
pub(crate) struct Recording(Option<Writer>);

impl Recording {
    /// Looks at the machine and writes the header.
    pub(crate) fn begin(options: &Options, turn: &Turn) -> Result<Self, Failure> {
        let Some(path) = &options.howlate_out else { return Ok(Self(None)) };
        let around = Surroundings::look();
        let plan = Plan {
            conditions: conditions(turn, &around.system.kernel),
            turns: vec![turn.clone()],
            left_out: Vec::new(),
        };
        let request = Request {
            command: "cyclic",
            seed: 0,
            out: Some(path),
            samples_out: None,
            dma_latency_us: match options.power {
                Power::Latency(micros) => Some(micros),
                _ => None,
            },
            stop_above: break_threshold(options),
            quiet: true,
        };
        let mut recording = Self(Some(Writer::create(path, &header(&request, &around, &plan))?));
        if options.clock == Clock::Realtime {
            recording.write(&Line::Caveat(Caveat::RealtimeClock));
        }
        Ok(recording)
    }

    /// Adds a line.
    pub(crate) fn write(&mut self, line: &Line) {
        if let Some(writer) = &mut self.0 {
            writer.write(line);
        }
    }

    /// Adds the end.
    pub(crate) fn end(mut self, how: HowEnded) {
        self.write(&Line::End(End { at_ns: clock::now(), how }));
        if let Some(Caveat::RecordingIncomplete { lines_lost, reason }) = self.0.and_then(Writer::close) {
            say(&format!("WARN: the recording is incomplete, {lines_lost} lines are missing: {reason}\n"));
        }
    }
}
