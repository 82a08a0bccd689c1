//! Lines of a recording that was read completely before the first is used.

use std::path::Path;
use std::vec;

use howlate_model::{EndReason, Header, Line};

use super::candidate::open;
use crate::read_error::ReadError;
use crate::reader::Reader;

/// Maximum bytes of files whose lines are cached; longer ones are read twice.
const MAX_CACHED: u64 = 2 << 20;

/// A recording that was read without error.
#[derive(Debug)]
pub(super) struct CompleteRecording {
    lines: RecordingLines,
    ending: RecordingEnding,
}

#[derive(Debug)]
enum RecordingLines {
    Cached(vec::IntoIter<Line>),
    Reread(Box<Reader>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordingEnding {
    /// With an end line.
    InOrder(EndReason),
    /// With an incomplete line.
    CutOff,
    /// Without an end line.
    Missing,
}

impl CompleteRecording {
    /// Reads it completely and returns its header, or the error.
    pub(super) fn read(path: &Path) -> Result<(Header, Self), String> {
        let text_of_error = |error: ReadError| error.to_string();
        let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
        let mut reader = open(path).map_err(text_of_error)?;
        let (mut cached, mut how) = (Vec::new(), None);
        for line in reader.by_ref() {
            let line = line.map_err(text_of_error)?;
            if let Line::End(end) = &line {
                how = Some(end.how);
            }
            if length <= MAX_CACHED {
                cached.push(line);
            }
        }
        if reader.of_unknown_conditions() > 0 {
            let lines = reader.of_unknown_conditions();
            return Err(format!("{lines} of its lines are about conditions that it does not list"));
        }
        let ending = match (reader.is_cut_off(), how) {
            (true, _) => RecordingEnding::CutOff,
            (false, Some(how)) => RecordingEnding::InOrder(how),
            (false, None) => RecordingEnding::Missing,
        };
        let lines = match length <= MAX_CACHED {
            true => RecordingLines::Cached(cached.into_iter()),
            false => RecordingLines::Reread(Box::new(open(path).map_err(text_of_error)?)),
        };
        Ok((reader.into_header(), Self { lines, ending }))
    }

    pub(super) const fn ending(&self) -> RecordingEnding {
        self.ending
    }
}

impl Iterator for CompleteRecording {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        match &mut self.lines {
            RecordingLines::Cached(lines) => lines.next(),
            // Read without error before.
            RecordingLines::Reread(reader) => reader.next()?.ok(),
        }
    }
}
