//! The lines of a recording that is known to be whole before the first of them is handed on.

use std::path::Path;
use std::vec;

use howlate_model::{EndReason, Header, Line};

use super::candidate::open;
use crate::read_error::ReadError;
use crate::reader::Reader;

/// Files up to this length are kept while they are read; longer ones are read twice.
const KEPT: u64 = 2 << 20;

/// A recording that was read to its end without an error.
#[derive(Debug)]
pub(super) struct Whole {
    lines: Lines,
    ending: Ending,
}

#[derive(Debug)]
enum Lines {
    Kept(vec::IntoIter<Line>),
    Again(Box<Reader>),
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With its last line.
    InOrder(EndReason),
    /// In the middle of a line.
    CutOff,
    /// Without its last line.
    Missing,
}

impl Whole {
    /// Reads it to the end, and gives its first line; the reason where that cannot be done.
    pub(super) fn read(path: &Path) -> Result<(Header, Self), String> {
        let words = |error: ReadError| error.to_string();
        let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
        let mut reader = open(path).map_err(words)?;
        let (mut kept, mut how) = (Vec::new(), None);
        for line in reader.by_ref() {
            let line = line.map_err(words)?;
            if let Line::End(end) = &line {
                how = Some(end.how);
            }
            if length <= KEPT {
                kept.push(line);
            }
        }
        if reader.of_unknown_conditions() > 0 {
            let lines = reader.of_unknown_conditions();
            return Err(format!("{lines} of its lines are about conditions that it does not list"));
        }
        let ending = match (reader.is_cut_off(), how) {
            (true, _) => Ending::CutOff,
            (false, Some(how)) => Ending::InOrder(how),
            (false, None) => Ending::Missing,
        };
        let lines = match length <= KEPT {
            true => Lines::Kept(kept.into_iter()),
            false => Lines::Again(Box::new(open(path).map_err(words)?)),
        };
        Ok((reader.into_header(), Self { lines, ending }))
    }

    pub(super) const fn ending(&self) -> Ending {
        self.ending
    }
}

impl Iterator for Whole {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        match &mut self.lines {
            Lines::Kept(lines) => lines.next(),
            // It was read without an error a moment ago.
            Lines::Again(reader) => reader.next()?.ok(),
        }
    }
}
