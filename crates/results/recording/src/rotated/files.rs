//! Files of a rotated recording, and reading of a time range.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use howlate_model::{Header, Line};
use howlate_safe_path::foreign;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::timelines::ENDING as TIMELINE;
use crate::{ReadError, Reader};

const ENDING: &str = ".jsonl";
/// Digits of the number, and format of the time: `00000017-20261125T021500Z.jsonl`.
const NUMBER: usize = 8;
const TIME: &str = "%Y%m%dT%H%M%SZ";

/// A file of the rotated recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RotatedFile {
    pub(super) path: PathBuf,
    pub(super) number: u64,
    pub(super) started: i64,
}

/// File name by number and the header's start time.
pub(super) fn file_name(number: u64, started: &str) -> String {
    let second = started.parse::<Timestamp>().unwrap_or_default();
    format!("{number:0NUMBER$}-{}{ENDING}", second.strftime(TIME))
}

/// Name of a timeline of the file with this number.
pub(super) fn name_beside(number: u64, name: &str) -> String {
    format!("{number:0NUMBER$}-{name}{TIMELINE}")
}

/// Number in a file name.
pub(super) fn number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.split_once('-')?.0.parse().ok()
}

/// Whether a timeline's name has a reason: `00000017-20261125T031207.123456Z-snap-late.trace.json`.
pub(super) fn is_asked_for(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('-').nth(2).is_some()
}

/// Bytes at the end that are searched for the last line: a busy minute takes up to half of that.
const END: u64 = 2 << 20;

/// Suffix of a timeline that is being written.
pub(super) const PART: &str = ".part";

/// Removes unfinished timelines of a killed recorder.
pub(super) fn remove_parts(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_part = path.to_string_lossy().strip_suffix(PART).is_some_and(|name| name.ends_with(TIMELINE));
        if is_part && number(&path).is_some() {
            drop(std::fs::remove_file(path));
        }
    }
    Ok(())
}

/// All timelines in order, with their lengths.
pub(super) fn timelines(folder: &Path) -> io::Result<VecDeque<(PathBuf, u64)>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.iter().map(std::fs::DirEntry::path);
    let ours = |path: &PathBuf| path.to_string_lossy().ends_with(TIMELINE) && number(path).is_some();
    let mut all: Vec<PathBuf> = paths.filter(ours).collect();
    all.sort();
    Ok(all
        .into_iter()
        .map(|path| (path.metadata().map_or(0, |metadata| metadata.len()), path))
        .map(|(length, path)| (path, length))
        .collect())
}

fn parse_name(path: PathBuf) -> Option<RotatedFile> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let (number, time) = name.split_once('-')?;
    let number = number.parse().ok().filter(|_| number.len() >= NUMBER)?;
    let started = DateTime::strptime(TIME, time).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    Some(RotatedFile { path, number, started })
}

/// All files of a folder in order.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<RotatedFile>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<RotatedFile> =
        entries.into_iter().filter_map(|entry| parse_name(entry.path())).collect();
    all.sort_by_key(|file| file.number);
    Ok(all)
}

/// Modification time in seconds since 1970.
pub(super) fn ended(path: &Path) -> Option<i64> {
    path.metadata().ok().map(|found| found.mtime())
}

/// Whether a folder is a recording of `howlate record`.
pub fn is_rotated(path: &Path) -> bool {
    path.is_dir() && segments(path).is_ok_and(|all| !all.is_empty())
}

/// Time range of lines; `None`: unlimited.
pub type LineFilter = (Option<Timestamp>, Option<Timestamp>);

#[derive(Debug, Default)]
pub struct ReadSummary {
    /// Header of the last file read.
    pub header: Option<Header>,
    /// Start of the oldest file.
    pub since: Option<Timestamp>,
    /// Start of the newest file.
    pub newest: Option<Timestamp>,
    /// Time of the last line of the recording.
    pub last: Option<Timestamp>,
    /// Files whose last line is incomplete, as after a crash.
    pub cut_off: u64,
    /// Errors of files that could not be read completely.
    pub damaged: Vec<String>,
}

/// Passes the lines of all files that overlap a time range to `each`; other files are not opened.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn read_between(
    folder: &Path,
    (from, until): LineFilter,
    mut each: impl FnMut(Line),
) -> Result<ReadSummary, ReadError> {
    let failed = |source| ReadError::Io { path: folder.to_owned(), source };
    let all = segments(folder).map_err(failed)?;
    let started = |file: &RotatedFile| Timestamp::from_second(file.started).ok();
    let (since, newest) = (all.first().and_then(started), all.last().and_then(started));
    let last = all.last().and_then(last_written);
    let mut summary = ReadSummary { since, newest, last, ..ReadSummary::default() };
    for (place, file) in all.iter().enumerate() {
        let next = all.get(place.saturating_add(1)).map(|next| next.started);
        // Copies have later modification times; the next file may have an earlier start, if the clock was set back.
        let end = ended(&file.path).into_iter().chain(next).max().unwrap_or(i64::MAX);
        let is_before = from.is_some_and(|from| end.saturating_add(1) < from.as_second());
        let is_after = until.is_some_and(|until| file.started > until.as_second());
        if !is_before && !is_after {
            read_one(&file.path, &mut summary, &mut each);
        }
    }
    Ok(summary)
}

/// Time of the last line of a file that has one, otherwise the file's start; also correct for copies.
fn last_written(file: &RotatedFile) -> Option<Timestamp> {
    let started = || Timestamp::from_second(file.started).ok();
    last_line(&file.path).ok().flatten().or_else(started)
}

fn last_line(path: &Path) -> io::Result<Option<Timestamp>> {
    let mut file = foreign::open_file_nofollow(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    let mut lines = end.rsplit(|byte| *byte == b'\n');
    Ok(lines.find_map(|line| when(&serde_json::from_slice(line).ok()?)))
}

/// Time of a line, if it has one.
fn when(line: &Line) -> Option<Timestamp> {
    let at = match line {
        Line::Incident(incident) => &incident.at,
        Line::Minute(minute) => &minute.at,
        Line::Snap(snap) => &snap.at,
        _ => return None,
    };
    at.parse().ok()
}

fn read_one(path: &Path, summary: &mut ReadSummary, each: &mut impl FnMut(Line)) {
    let opened =
        foreign::open_file_nofollow(path).map_err(|source| ReadError::Io { path: path.to_owned(), source });
    let mut reader = match opened.and_then(|file| Reader::read(file, path)) {
        Ok(reader) => reader,
        // Removed in the meantime.
        Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return,
        Err(error) => return summary.damaged.push(error.to_string()),
    };
    summary.header = Some(reader.header().clone());
    for line in reader.by_ref() {
        match line {
            Ok(line) => each(line),
            Err(error) => return summary.damaged.push(error.to_string()),
        }
    }
    summary.cut_off = summary.cut_off.saturating_add(u64::from(reader.is_cut_off()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_number_and_the_time() {
        let name = file_name(17, "2026-11-25T02:15:00Z");
        assert_eq!(name, "00000017-20261125T021500Z.jsonl");
        let segment = parse_name(PathBuf::from(&name)).unwrap();
        assert_eq!((segment.number, segment.started), (17, 1_795_572_900));
        for other in ["run.jsonl", "17-20261125T021500Z.jsonl", "00000017-2026.jsonl", "00000017-x"] {
            assert_eq!(parse_name(PathBuf::from(other)), None, "{other}");
        }
    }
}
