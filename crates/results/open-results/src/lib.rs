//! Opens results: recordings, several recordings as one, and files of other programs.

mod block_table;
mod error;
mod files;
mod incidents;
mod recognise;

use std::path::Path;

use howlate_analyse::compare::Track;
use howlate_analyse::{Analysis, Outcome};
pub use howlate_import::ImportOptions;
use howlate_import::Imported;
use howlate_model::{Caveat, CpuTimeline, Header, Line, Work};
use howlate_recording::{ReadError, Reader, read_timeline, timeline_beside};
use howlate_render::{legible, legible_line, legible_value};

pub use self::block_table::block_columns;
pub use self::error::{OpenError, hint};
pub use self::files::{files, is_several};
pub use self::incidents::{incidents, timeline, timelines};
use self::recognise::OpenedFile;

/// Escaping of texts in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMode {
    /// Control characters escaped, for people.
    Legible,
    AsRecorded,
}

/// Options of opening a file.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    pub texts: TextMode,
    /// For files of other programs.
    pub import: ImportOptions,
}

impl From<TextMode> for ReadOptions {
    fn from(texts: TextMode) -> Self {
        Self { texts, import: ImportOptions::default() }
    }
}

/// Reads and analyses the file at `path`.
///
/// # Errors
///
/// When it is neither a recording nor a supported file of another program.
pub fn analysis(path: &Path, opening: impl Into<ReadOptions>) -> Result<Analysis, OpenError> {
    let (mut analysis, notes) = read(path, opening.into(), Analysis::new, Analysis::add)?;
    analysis.caveats.extend(notes);
    // Timelines may be missing in a copy.
    analysis.timelines.retain(|timeline| timeline_beside(path, &timeline.file).is_some());
    Ok(analysis)
}

/// Like [`analysis`], with every block, for comparisons.
///
/// # Errors
///
/// When it is neither a recording nor a supported file of another program.
pub fn track(path: &Path, opening: impl Into<ReadOptions>) -> Result<Track, OpenError> {
    let (mut track, notes) = read(path, opening.into(), Track::new, Track::add)?;
    track.analysis.caveats.extend(notes);
    Ok(track)
}

/// Timelines of a recording; unreadable ones are omitted.
pub fn recorded_timelines(path: &Path, analysis: &Analysis) -> Vec<Vec<CpuTimeline>> {
    let names = analysis.timelines.iter().map(|timeline| &timeline.file);
    names.filter_map(|name| read_timeline(&timeline_beside(path, name)?)).collect()
}

/// Printable path of a file.
pub fn name(path: &Path) -> String {
    legible(&path.display().to_string()).into_owned()
}

/// Passes each line of a file to `add`; returns caveats about the file itself.
fn read<T>(
    path: &Path,
    ReadOptions { texts, import }: ReadOptions,
    begin: impl FnOnce(Header) -> T,
    add: impl Fn(&mut T, &Line),
) -> Result<(T, Vec<Caveat>), OpenError> {
    match recognise::open(path, import)? {
        OpenedFile::Recording(mut reader) => {
            let mut result = begin(header(reader.header().clone(), path, texts)?);
            let notes = each_line(&mut reader, texts, |line| add(&mut result, line))?;
            Ok((result, notes))
        }
        OpenedFile::Merged(sources) => {
            let mut result = begin(header(sources.header().clone(), path, texts)?);
            for line in *sources {
                add(&mut result, &with_text_mode(line, texts).map_err(|error| illegible(path, 1, &error))?);
            }
            Ok((result, Vec::new()))
        }
        OpenedFile::Imported(Imported { header: first, lines }) => {
            let mut result = begin(header(first, path, texts)?);
            for (line, number) in lines.into_iter().zip(1..) {
                add(
                    &mut result,
                    &with_text_mode(line, texts).map_err(|error| illegible(path, number, &error))?,
                );
            }
            Ok((result, Vec::new()))
        }
    }
}

fn header(header: Header, path: &Path, texts: TextMode) -> Result<Header, OpenError> {
    match texts {
        TextMode::AsRecorded => Ok(header),
        TextMode::Legible => legible_value(header).map_err(|error| illegible(path, 1, &error)),
    }
}

fn with_text_mode(line: Line, texts: TextMode) -> Result<Line, serde_json::Error> {
    match texts {
        TextMode::AsRecorded => Ok(line),
        TextMode::Legible => legible_line(line),
    }
}

fn illegible(path: &Path, line: usize, error: &serde_json::Error) -> OpenError {
    let reason = format!("control characters stand where a name must ({error})");
    ReadError::Damaged { path: path.to_owned(), line, reason }.into()
}

/// Whether a recording contains more or less than one complete recording.
pub fn is_mixed(analysis: &Analysis) -> bool {
    let is_spoiled_by = |caveat: &Caveat| {
        matches!(
            caveat,
            Caveat::RecordingsJoined { .. } | Caveat::UnknownConditions { .. } | Caveat::SourceLeftOut { .. }
        )
    };
    analysis.caveats.iter().any(is_spoiled_by)
}

/// Whether a run ended before any wake-up, so that there are no results. Watched programs never have any.
pub fn is_void(analysis: &Analysis) -> bool {
    let is_seen =
        |outcome: &Outcome| outcome.count() > 0 || matches!(outcome.condition.work, Work::Watch { .. });
    analysis.end.is_none() && !analysis.outcomes().iter().any(is_seen)
}

/// Passes each line to `take`, up to the header of a second recording.
fn each_line(
    reader: &mut Reader,
    texts: TextMode,
    mut take: impl FnMut(&Line),
) -> Result<Vec<Caveat>, OpenError> {
    let (mut has_end, mut joined) = (false, None);
    while let Some(line) = reader.next() {
        match line {
            Ok(line) => {
                has_end |= matches!(line, Line::End(_));
                let wrong = |error| illegible(reader.path(), reader.line(), &error);
                take(&with_text_mode(line, texts).map_err(wrong)?);
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

/// Caveats of an incomplete recording.
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
