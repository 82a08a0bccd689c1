//! Results from disk: recordings, many of them as one, and what other programs wrote. Whoever reads it sees what the live run
//! saw.

mod block_table;
mod error;
mod files;
mod incidents;
mod recognise;

use std::path::Path;

use howlate_analyse::compare::Track;
use howlate_analyse::{Analysis, Outcome};
use howlate_import::Imported;
pub use howlate_import::Reading;
use howlate_model::{Caveat, CpuTimeline, Header, Line, Work};
use howlate_recording::{ReadError, Reader, read_timeline, timeline_beside};
use howlate_render::{legible, legible_line, legible_value};

pub use self::block_table::block_columns;
pub use self::error::{NotRead, hint};
pub use self::files::{files, is_several};
pub use self::incidents::{incidents, timeline, timelines};
use self::recognise::Source;

/// How the texts of a recording are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Each letter legible, for people.
    Legible,
    /// As they are, for programs.
    AsRecorded,
}

/// How a file is opened: what becomes of its texts, and how others' files are taken.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// How its texts are taken.
    pub texts: Texts,
    /// How a file of another program is taken.
    pub reading: Reading,
}

impl From<Texts> for Opening {
    fn from(texts: Texts) -> Self {
        Self { texts, reading: Reading::default() }
    }
}

/// What the recording at `path` says.
///
/// # Errors
///
/// When it is no recording, nor a file of another program that is read.
pub fn analysis(path: &Path, opening: impl Into<Opening>) -> Result<Analysis, NotRead> {
    let (mut analysis, notes) = read(path, opening.into(), Analysis::new, Analysis::add)?;
    analysis.caveats.extend(notes);
    // A recording may have been copied without the files beside it.
    analysis.timelines.retain(|one| timeline_beside(path, &one.file).is_some());
    Ok(analysis)
}

/// The same with every block, as comparisons need it.
///
/// # Errors
///
/// When it is no recording, nor a file of another program that is read.
pub fn track(path: &Path, opening: impl Into<Opening>) -> Result<Track, NotRead> {
    let (mut track, notes) = read(path, opening.into(), Track::new, Track::add)?;
    track.analysis.caveats.extend(notes);
    Ok(track)
}

/// What all CPUs did around late wake-ups of a recording, file by file; what cannot be read is left out.
pub fn kept_timelines(path: &Path, analysis: &Analysis) -> Vec<Vec<CpuTimeline>> {
    let names = analysis.timelines.iter().map(|one| &one.file);
    names.filter_map(|name| read_timeline(&timeline_beside(path, name)?)).collect()
}

/// The name of a file, to be shown.
pub fn name(path: &Path) -> String {
    legible(&path.display().to_string()).into_owned()
}

/// Gives a file to `add`, line by line; returns what is to be said of the file itself.
fn read<T>(
    path: &Path,
    Opening { texts, reading }: Opening,
    begin: impl FnOnce(Header) -> T,
    add: impl Fn(&mut T, &Line),
) -> Result<(T, Vec<Caveat>), NotRead> {
    match recognise::open(path, reading)? {
        Source::Recording(mut reader) => {
            let mut whole = begin(header(reader.header().clone(), path, texts)?);
            let notes = each_line(&mut reader, texts, |line| add(&mut whole, line))?;
            Ok((whole, notes))
        }
        Source::Merged(sources) => {
            let mut whole = begin(header(sources.header().clone(), path, texts)?);
            for line in *sources {
                add(&mut whole, &taken(line, texts).map_err(|error| illegible(path, 1, &error))?);
            }
            Ok((whole, Vec::new()))
        }
        Source::Imported(Imported { header: first, lines }) => {
            let mut whole = begin(header(first, path, texts)?);
            for (line, number) in lines.into_iter().zip(1..) {
                add(&mut whole, &taken(line, texts).map_err(|error| illegible(path, number, &error))?);
            }
            Ok((whole, Vec::new()))
        }
    }
}

fn header(header: Header, path: &Path, texts: Texts) -> Result<Header, NotRead> {
    match texts {
        Texts::AsRecorded => Ok(header),
        Texts::Legible => legible_value(header).map_err(|error| illegible(path, 1, &error)),
    }
}

fn taken(line: Line, texts: Texts) -> Result<Line, serde_json::Error> {
    match texts {
        Texts::AsRecorded => Ok(line),
        Texts::Legible => legible_line(line),
    }
}

fn illegible(path: &Path, line: usize, error: &serde_json::Error) -> NotRead {
    let reason = format!("control characters stand where a name must ({error})");
    ReadError::Damaged { path: path.to_owned(), line, reason }.into()
}

/// Whether a recording is not what its lines say it is: more than the one that was read, or less.
pub fn is_mixed(analysis: &Analysis) -> bool {
    let spoils = |one: &Caveat| {
        matches!(
            one,
            Caveat::RecordingsJoined { .. } | Caveat::UnknownConditions { .. } | Caveat::SourceLeftOut { .. }
        )
    };
    analysis.caveats.iter().any(spoils)
}

/// Whether a run was killed before any of its wake-ups was seen, so that it says nothing. Of a program that was only watched from afar
/// none is ever seen.
pub fn is_void(analysis: &Analysis) -> bool {
    let is_seen = |one: &Outcome| one.count() > 0 || matches!(one.condition.work, Work::Watch { .. });
    analysis.end.is_none() && !analysis.outcomes().iter().any(is_seen)
}

/// Takes each line, up to where another recording begins.
fn each_line(reader: &mut Reader, texts: Texts, mut take: impl FnMut(&Line)) -> Result<Vec<Caveat>, NotRead> {
    let (mut has_end, mut joined) = (false, None);
    while let Some(line) = reader.next() {
        match line {
            Ok(line) => {
                has_end |= matches!(line, Line::End(_));
                let wrong = |error| illegible(reader.path(), reader.line(), &error);
                take(&taken(line, texts).map_err(wrong)?);
            }
            Err(ReadError::SecondHeader { path, line }) => {
                joined = Some(Caveat::RecordingsJoined { path: name(&path), line: line as u64 });
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(notes(reader, has_end).chain(joined).collect())
}

/// What is not whole about a recording.
fn notes(reader: &Reader, has_end: bool) -> impl Iterator<Item = Caveat> {
    let path = name(reader.path());
    let lines = reader.of_unknown_conditions();
    let unknown = (lines > 0).then(|| Caveat::UnknownConditions { path: path.clone(), lines });
    let end = match (reader.is_cut_off(), has_end) {
        (true, _) => Some(Caveat::RecordingCutOff { path }),
        (false, false) => Some(Caveat::NoEnd { path }),
        (false, true) => None,
    };
    unknown.into_iter().chain(end)
}
