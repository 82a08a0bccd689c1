//! Recordings from disk.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_analyse::compare::Track;
use howlate_model::{Caveat, Line};
use howlate_record::Reader;

use crate::error::Error;

/// What the recording at `path` says.
pub(crate) fn analysis(path: &Path) -> Result<Analysis, Error> {
    let mut reader = Reader::open(path)?;
    let mut analysis = Analysis::new(reader.header().clone());
    each_line(&mut reader, |line| analysis.add(line))?;
    note_its_end(&mut analysis, path, &reader);
    Ok(analysis)
}

/// The same with every block, as comparisons need it.
pub(crate) fn track(path: &Path) -> Result<Track, Error> {
    let mut reader = Reader::open(path)?;
    let mut track = Track::new(reader.header().clone());
    each_line(&mut reader, |line| track.add(line))?;
    note_its_end(&mut track.analysis, path, &reader);
    Ok(track)
}

fn each_line(reader: &mut Reader, mut take: impl FnMut(&Line)) -> Result<(), Error> {
    for line in reader {
        take(&line?);
    }
    Ok(())
}

fn note_its_end(analysis: &mut Analysis, path: &Path, reader: &Reader) {
    let path = path.display().to_string();
    if reader.is_cut_off() {
        analysis.caveats.push(Caveat::RecordingCutOff { path });
    } else if analysis.end.is_none() {
        analysis.caveats.push(Caveat::NoEnd { path });
    }
}
