//! Recordings: every line that can be read is counted.

use std::io::Cursor;
use std::path::Path;

use howlate_analyse::compare::Track;
use howlate_recording::Reader;
use howlate_render::{legible_line, legible_value};

use crate::{Target, corpus};

pub(crate) const TARGET: Target = Target { name: "recording", seeds, body };

/// The header and a few lines of each kind of recording: short inputs are read more often.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let whole = corpus::testdata("recordings/v1");
    let lines =
        |text: &Vec<u8>| text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let short = |text: &Vec<u8>| {
        let mut lines = lines(text);
        lines.sort_by_key(|line| (!line.starts_with(b"{\"header\""), line.len() > 2_000));
        lines.truncate(8);
        lines.concat()
    };
    whole.iter().map(short).collect()
}

fn body(input: &[u8]) {
    drop(read(input));
}

/// What a recording says; `None` when it is none, or damaged.
pub(crate) fn read(input: &[u8]) -> Option<Track> {
    let mut reader = Reader::read(Cursor::new(input.to_vec()), Path::new("fuzzed")).ok()?;
    let mut track = Track::new(legible_value(reader.header().clone()).ok()?);
    for line in reader.by_ref() {
        track.add(&legible_line(line.ok()?).ok()?);
    }
    let summaries =
        track.analysis.outcomes().iter().map(|one| (one.summary(), one.corrected_summary(), one.caveats()));
    summaries.for_each(drop);
    Some(track)
}
