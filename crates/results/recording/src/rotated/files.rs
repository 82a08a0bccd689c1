//! The files of a folder, and what of them lies between two times.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use howlate_model::{Header, Line};
use howlate_safe_path::foreign;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::timelines::ENDING as BESIDE;
use crate::{ReadError, Reader};

const ENDING: &str = ".jsonl";
/// Digits of a number, and of a time: `00000017-20261125T021500Z.jsonl`.
const NUMBER: usize = 8;
const TIME: &str = "%Y%m%dT%H%M%SZ";

/// One file of the rotated recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) number: u64,
    /// Seconds since 1970.
    pub(super) started: i64,
}

/// The name of a file whose header says when it was begun.
pub(super) fn file_name(number: u64, started: &str) -> String {
    let second = started.parse::<Timestamp>().unwrap_or_default();
    format!("{number:0NUMBER$}-{}{ENDING}", second.strftime(TIME))
}

/// The name of a file beside the one with this number.
pub(super) fn name_beside(number: u64, name: &str) -> String {
    format!("{number:0NUMBER$}-{name}{BESIDE}")
}

/// The number in a name.
pub(super) fn number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.split_once('-')?.0.parse().ok()
}

/// Whether the name of a file beside says why: `00000017-20261125T031207.123456Z-snap-late.trace.json`.
pub(super) fn is_asked_for(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('-').nth(2).is_some()
}

/// Of a file, so much of its end is looked at for its last line: a busy minute takes up to half of that.
const END: u64 = 2 << 20;

/// What stands behind the name of a file beside while it is written: others see it when it is whole.
pub(super) const PART: &str = ".part";

/// Removes what a killed recorder has left of files beside.
pub(super) fn remove_parts(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_part = path.to_string_lossy().strip_suffix(PART).is_some_and(|name| name.ends_with(BESIDE));
        if is_part && number(&path).is_some() {
            drop(std::fs::remove_file(path));
        }
    }
    Ok(())
}

/// All files beside, in their order, with their lengths.
pub(super) fn beside(folder: &Path) -> io::Result<VecDeque<(PathBuf, u64)>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.iter().map(std::fs::DirEntry::path);
    let ours = |path: &PathBuf| path.to_string_lossy().ends_with(BESIDE) && number(path).is_some();
    let mut all: Vec<PathBuf> = paths.filter(ours).collect();
    all.sort();
    Ok(all
        .into_iter()
        .map(|path| (path.metadata().map_or(0, |found| found.len()), path))
        .map(|(length, path)| (path, length))
        .collect())
}

fn parsed(path: PathBuf) -> Option<Segment> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let (number, time) = name.split_once('-')?;
    let number = number.parse().ok().filter(|_| number.len() >= NUMBER)?;
    let started = DateTime::strptime(TIME, time).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    Some(Segment { path, number, started })
}

/// All files of a folder, in their order.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<Segment>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<Segment> = entries.into_iter().filter_map(|entry| parsed(entry.path())).collect();
    all.sort_by_key(|one| one.number);
    Ok(all)
}

/// When a file was last written, in seconds since 1970.
pub(super) fn ended(path: &Path) -> Option<i64> {
    path.metadata().ok().map(|found| found.mtime())
}

/// Whether a folder is one of `howlate record`.
pub fn is_rotated(path: &Path) -> bool {
    path.is_dir() && segments(path).is_ok_and(|all| !all.is_empty())
}

/// Which lines are wanted, by the times that they say: `None`, all.
pub type LineFilter = (Option<Timestamp>, Option<Timestamp>);

/// What was read.
#[derive(Debug, Default)]
pub struct ReadBetween {
    /// The header of the last file that was read.
    pub header: Option<Header>,
    /// When the first file began that is still there.
    pub since: Option<Timestamp>,
    /// When the last line was written, wherever that is.
    pub last: Option<Timestamp>,
    /// Files whose last line is not whole, as after a crash.
    pub cut_off: u64,
    /// Files that could not be read to their end, and why.
    pub damaged: Vec<String>,
}

/// Hands on the lines of the files that were written at some time between two. Only those are opened.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn read_between(
    folder: &Path,
    (from, until): LineFilter,
    mut each: impl FnMut(Line),
) -> Result<ReadBetween, ReadError> {
    let failed = |source| ReadError::Io { path: folder.to_owned(), source };
    let all = segments(folder).map_err(failed)?;
    let since = all.first().and_then(|first| Timestamp::from_second(first.started).ok());
    let last = all.last().and_then(last_written);
    let mut read = ReadBetween { since, last, ..ReadBetween::default() };
    for (place, one) in all.iter().enumerate() {
        let next = all.get(place.saturating_add(1)).map(|next| next.started);
        // A copy may have been written later; the next one may have been begun before the clock was set back.
        let end = ended(&one.path).into_iter().chain(next).max().unwrap_or(i64::MAX);
        let is_before = from.is_some_and(|from| end.saturating_add(1) < from.as_second());
        let is_after = until.is_some_and(|until| one.started > until.as_second());
        if !is_before && !is_after {
            read_one(&one.path, &mut read, &mut each);
        }
    }
    Ok(read)
}

/// When the last line of a file was written that says so, or the file was begun; of a copy as well.
fn last_written(of: &Segment) -> Option<Timestamp> {
    let begun = || Timestamp::from_second(of.started).ok();
    last_line(&of.path).ok().flatten().or_else(begun)
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

/// When a line was written, as far as it says.
fn when(line: &Line) -> Option<Timestamp> {
    let at = match line {
        Line::Incident(incident) => &incident.at,
        Line::Minute(minute) => &minute.at,
        Line::Snap(snap) => &snap.at,
        _ => return None,
    };
    at.parse().ok()
}

fn read_one(path: &Path, read: &mut ReadBetween, each: &mut impl FnMut(Line)) {
    let opened =
        foreign::open_file_nofollow(path).map_err(|source| ReadError::Io { path: path.to_owned(), source });
    let mut reader = match opened.and_then(|file| Reader::read(file, path)) {
        Ok(reader) => reader,
        // It made room meanwhile.
        Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return,
        Err(error) => return read.damaged.push(error.to_string()),
    };
    read.header = Some(reader.header().clone());
    for line in reader.by_ref() {
        match line {
            Ok(line) => each(line),
            Err(error) => return read.damaged.push(error.to_string()),
        }
    }
    read.cut_off = read.cut_off.saturating_add(u64::from(reader.is_cut_off()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_number_and_the_time() {
        let name = file_name(17, "2026-11-25T02:15:00Z");
        assert_eq!(name, "00000017-20261125T021500Z.jsonl");
        let segment = parsed(PathBuf::from(&name)).unwrap();
        assert_eq!((segment.number, segment.started), (17, 1_795_572_900));
        for other in ["run.jsonl", "17-20261125T021500Z.jsonl", "00000017-2026.jsonl", "00000017-x"] {
            assert_eq!(parsed(PathBuf::from(other)), None, "{other}");
        }
    }
}
