//! Reading recordings, complete or not.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use howlate_model::{CONDITIONS_MOST, FORMAT, Header, Line};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::error::Category;

use crate::bounded::{LONGEST_LINE, LineRead, read_line_within};
use crate::read_error::ReadError;

/// An open recording; iterates over the lines after the header.
pub struct Reader {
    path: PathBuf,
    lines: BufReader<Box<dyn Read + Send>>,
    header: Header,
    number: usize,
    buffer: Vec<u8>,
    cut_off: bool,
    unknown: u64,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("line", &self.number).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a recording and reads its header.
    ///
    /// # Errors
    ///
    /// When it is no recording, or one of a later format.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        Self::read(file, path)
    }

    /// Reads a recording from anywhere; `path` is its name in errors.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn read(from: impl Read + Send + 'static, path: &Path) -> Result<Self, ReadError> {
        log::debug!("reading {}", path.display());
        let failed = |source| ReadError::Io { path: path.to_owned(), source };
        let mut lines = BufReader::with_capacity(1 << 16, Box::new(from) as Box<dyn Read + Send>);
        let mut buffer = Vec::new();
        match read_line_within(&mut lines, LONGEST_LINE, &mut buffer).map_err(failed)? {
            LineRead::End => return Err(ReadError::Empty { path: path.to_owned() }),
            LineRead::TooLong => return Err(ReadError::LineTooLong { path: path.to_owned(), line: 1 }),
            LineRead::Line => {}
        }
        let header = header(&buffer, path)?;
        Ok(Self { path: path.to_owned(), lines, header, number: 1, buffer, cut_off: false, unknown: 0 })
    }

    /// The header, including conditions that later lines added.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// [`header`](Self::header), consuming the reader.
    pub fn into_header(self) -> Header {
        self.header
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the last line read, from 1.
    pub const fn line(&self) -> usize {
        self.number
    }

    /// Whether the last line was incomplete, as after a crash, and skipped. Known at the end.
    pub const fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Lines so far about conditions that the header lacks.
    pub const fn of_unknown_conditions(&self) -> u64 {
        self.unknown
    }

    fn parse(&mut self) -> Option<Result<Line, ReadError>> {
        match parse_line(&self.buffer) {
            Ok(Line::Header(_)) => {
                Some(Err(ReadError::SecondHeader { path: self.path.clone(), line: self.number }))
            }
            Ok(line) => {
                let listed = self.header.conditions.len();
                if let (Line::Condition(condition), true) =
                    (&line, self.header.conditions.len() < CONDITIONS_MOST)
                {
                    self.header.conditions.push((**condition).clone());
                }
                let is_unknown = line.conditions().iter().any(|&index| index as usize >= listed);
                self.unknown = self.unknown.saturating_add(u64::from(is_unknown));
                Some(Ok(line))
            }
            Err(_) if self.buffer.last() != Some(&b'\n') => {
                self.cut_off = true;
                None
            }
            Err(error) => Some(Err(ReadError::Damaged {
                path: self.path.clone(),
                line: self.number,
                reason: error.to_string(),
            })),
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.buffer.clear();
        self.number = self.number.saturating_add(1);
        match read_line_within(&mut self.lines, LONGEST_LINE, &mut self.buffer) {
            Ok(LineRead::End) => None,
            Ok(LineRead::Line) => self.parse(),
            Ok(LineRead::TooLong) => {
                Some(Err(ReadError::LineTooLong { path: self.path.clone(), line: self.number }))
            }
            Err(source) => Some(Err(ReadError::Io { path: self.path.clone(), source })),
        }
    }
}

pub(crate) fn parse_line(line: &[u8]) -> Result<Line, serde_json::Error> {
    text_of(line).and_then(Line::from_json)
}

/// Checks UTF-8 of the whole line: checking each string takes several times as long.
pub(crate) fn text_of(line: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(line).map_err(serde_json::Error::custom)
}

/// Part of the header common to all format versions.
#[derive(Deserialize)]
struct AnyHeader {
    header: Versioned,
}

#[derive(Deserialize)]
struct Versioned {
    format: u64,
}

fn header(line: &[u8], path: &Path) -> Result<Header, ReadError> {
    let not = |reason: String| ReadError::NotARecording { path: path.to_owned(), reason };
    let why = match parse_line(line) {
        Ok(Line::Header(header)) if header.format <= FORMAT => return Ok(*header),
        Ok(_) => "line 1 is not a header".to_owned(),
        Err(error) => error.to_string(),
    };
    // A later header may have other fields.
    match serde_json::from_str::<AnyHeader>(&String::from_utf8_lossy(line)) {
        Ok(any) if any.header.format > u64::from(FORMAT) => {
            Err(ReadError::Newer { path: path.to_owned(), found: any.header.format })
        }
        Ok(_) => Err(not(why)),
        Err(error) => Err(not(match error.classify() {
            Category::Data => "line 1 is not a header with a format".to_owned(),
            _ => format!("line 1 is not JSON ({error})"),
        })),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use howlate_model::{
        Block, CauseBlock, Condition, Header, Ledger, MonotonicTime, Span, Wait, Wakeup, WakeupGrid, Work,
    };

    pub(crate) fn header(conditions: u32) -> Header {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let condition = |thread| Condition { thread, ..Condition::new(work, "6.1.0") };
        Header {
            howlate: "0.1.0".into(),
            command: "cyclic".into(),
            arguments: vec!["cyclic".into()],
            started: "2026-01-01T00:00:00Z".into(),
            seed: 1,
            ..Header::for_conditions((0..conditions).map(condition).collect())
        }
    }

    pub(crate) fn block(condition: u32, round: u32, late: i64) -> Block {
        let expected = MonotonicTime::from_nanos(1_000);
        let mut block = Block { condition, round, ..Block::default() };
        let ran = MonotonicTime::from_nanos(1_000 + late);
        block.record(Wakeup { expected, ran }, Some(WakeupGrid::endless(Span::from_millis(1))));
        block
    }

    /// Nothing was late in this turn.
    pub(crate) fn why(condition: u32, round: u32) -> CauseBlock {
        let time = MonotonicTime::default();
        let (tracer, ledger) = ("bpf".to_owned(), Ledger::default());
        CauseBlock { condition, round, beside: 0, from: time, until: time, tracer, ledger }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{block, header};
    use super::*;
    use crate::Writer;

    fn recording(folder: &Path) -> PathBuf {
        let path = folder.join("a.jsonl");
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        for round in 0..3 {
            writer.write(&Line::Block(Box::new(block(0, round, 50))));
        }
        writer.close();
        path
    }

    fn why(condition: u32) -> Line {
        Line::Why(Box::new(super::testing::why(condition, 1)))
    }

    #[track_caller]
    fn check(content: &[u8], says: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.jsonl");
        std::fs::write(&path, content).unwrap();
        let error = match Reader::open(&path) {
            Err(error) => error,
            Ok(reader) => reader.filter_map(Result::err).next().unwrap(),
        };
        assert!(error.to_string().contains(says), "{error}");
    }

    #[test]
    fn what_is_no_recording_is_named() {
        check(b"", "is empty");
        check(b"\x7fELF\x02", "is not a howlate recording");
        check(b"{\"a\":1}\n", "not a header with a format");
        check(b"{\"header\":{\"format\":99}}\n", "has format 99; this howlate reads up to format 1");
        assert!(matches!(Reader::open(Path::new("/no/such/file")), Err(ReadError::Io { .. })));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read_to_string(recording(folder.path())).unwrap();
        check(whole.replacen("\"hdr\":\"", "\"hdr\":\"!", 1).as_bytes(), "line 2 is damaged");
        check(whole.replacen("{\"block\"", "{\"blok\"", 1).as_bytes(), "line 2 is damaged");
        let place = whole.find("\"hdr\"").unwrap();
        let bytes = [&whole.as_bytes()[..=place], b"\xff", &whole.as_bytes()[place + 2..]].concat();
        check(&bytes, "line 2 is damaged: invalid utf-8");
    }

    #[test]
    fn a_line_without_end_is_not_read_for_ever() {
        let error = Reader::open(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("line 1 is longer than 8 MiB"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read(recording(folder.path())).unwrap();
        check(&[whole, vec![b' '; LONGEST_LINE + 1]].concat(), "line 5 is longer than 8 MiB");
    }

    #[test]
    fn a_second_recording_in_the_same_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read(recording(folder.path())).unwrap();
        check(&whole.repeat(2), "another recording begins on line 5");
    }

    #[test]
    fn lines_about_unknown_conditions_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(2)).unwrap();
        [0, 2, 1, 7]
            .iter()
            .for_each(|&condition| writer.write(&Line::Block(Box::new(block(condition, 0, 50)))));
        writer.close();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 4);
        assert_eq!(reader.of_unknown_conditions(), 2);
    }

    #[test]
    fn causes_of_unknown_conditions_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(2)).unwrap();
        [0, 2].iter().for_each(|&condition| writer.write(&why(condition)));
        writer.close();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 2);
        assert_eq!(reader.of_unknown_conditions(), 1);
    }

    #[test]
    fn a_recording_cut_anywhere_gives_its_complete_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = recording(folder.path());
        let whole = std::fs::read(&path).unwrap();
        let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for length in (first_line..=whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut reader = Reader::open(&path).unwrap();
            let complete = whole[first_line..length].iter().filter(|byte| **byte == b'\n').count();
            let got = reader.by_ref().map(Result::unwrap).count();
            assert!(got == complete || got == complete + 1 && !reader.is_cut_off(), "{length}");
        }
    }
}
