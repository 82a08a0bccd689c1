//! Recordings from disk.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_analyse::compare::Track;
use howlate_model::{Caveat, Header, Line};
use howlate_record::{ReadError, Reader};
use howlate_render::{legible, legible_line, legible_value};

use crate::error::Error;

/// How the texts of a recording are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// Each letter legible, for people.
    Legible,
    /// As they are, for programs.
    AsRecorded,
}

/// What the recording at `path` says.
pub(crate) fn analysis(path: &Path, texts: Texts) -> Result<Analysis, Error> {
    let mut reader = Reader::open(path)?;
    let mut analysis = Analysis::new(header(&reader, path, texts)?);
    let trouble = each_line(&mut reader, texts, |line| analysis.add(line))?;
    note(&mut analysis, path, &reader, trouble);
    Ok(analysis)
}

/// The same with every block, as comparisons need it.
pub(crate) fn track(path: &Path, texts: Texts) -> Result<Track, Error> {
    let mut reader = Reader::open(path)?;
    let mut track = Track::new(header(&reader, path, texts)?);
    let trouble = each_line(&mut reader, texts, |line| track.add(line))?;
    note(&mut track.analysis, path, &reader, trouble);
    Ok(track)
}

/// The name of a file, to be shown.
pub(crate) fn name(path: &Path) -> String {
    legible(&path.display().to_string()).into_owned()
}

fn header(reader: &Reader, path: &Path, texts: Texts) -> Result<Header, Error> {
    let header = reader.header().clone();
    match texts {
        Texts::AsRecorded => Ok(header),
        Texts::Legible => legible_value(header).map_err(|error| illegible(path, 1, &error)),
    }
}

fn illegible(path: &Path, line: usize, error: &serde_json::Error) -> Error {
    let reason = format!("control characters stand where a name must ({error})");
    ReadError::Damaged { path: path.to_owned(), line, reason }.into()
}

/// Whether a recording is not what its lines say it is: more than the one that was read, or less.
pub(crate) fn is_mixed(analysis: &Analysis) -> bool {
    let spoils =
        |one: &Caveat| matches!(one, Caveat::RecordingsJoined { .. } | Caveat::UnknownConditions { .. });
    analysis.caveats.iter().any(spoils)
}

/// Takes each line, up to where another recording begins.
fn each_line(
    reader: &mut Reader,
    texts: Texts,
    mut take: impl FnMut(&Line),
) -> Result<Option<Caveat>, Error> {
    while let Some(line) = reader.next() {
        match line {
            Ok(line) if texts == Texts::AsRecorded => take(&line),
            Ok(line) => {
                let wrong = |error| illegible(reader.path(), reader.line(), &error);
                take(&legible_line(line).map_err(wrong)?);
            }
            Err(ReadError::SecondHeader { path, line }) => {
                return Ok(Some(Caveat::RecordingsJoined { path: name(&path), line: line as u64 }));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn note(analysis: &mut Analysis, path: &Path, reader: &Reader, trouble: Option<Caveat>) {
    let path = name(path);
    let lines = reader.of_unknown_conditions();
    let unknown = (lines > 0).then(|| Caveat::UnknownConditions { path: path.clone(), lines });
    analysis.caveats.extend(unknown);
    if reader.is_cut_off() {
        analysis.caveats.push(Caveat::RecordingCutOff { path });
    } else if analysis.end.is_none() {
        analysis.caveats.push(Caveat::NoEnd { path });
    }
    analysis.caveats.extend(trouble);
}
