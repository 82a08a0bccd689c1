//! Writing a recording as it happens.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use howlate_model::{Caveat, Header, Line};

use crate::rewrite::Rewritten;
use crate::{TurnOf, compact, resume};

/// Blocks that a recording may hold per condition before neighbours are joined.
const BLOCKS_PER_CONDITION: usize = 64;
/// Blocks that any recording may hold.
const BLOCKS_AT_LEAST: usize = 1_024;

/// Why a recording could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is something already; nothing is written over.
    #[error("{} exists already, and nothing is written over", path.display())]
    Exists {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file could not be made or written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl CreateError {
    pub(crate) fn of(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

/// An open recording. Once begun, it never fails: what cannot be written is counted.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Length of the file up to the last complete line.
    complete: u64,
    blocks: usize,
    most_blocks: usize,
    /// A pipe or a device: what is written is gone.
    streams: bool,
    lost: u64,
    reason: Option<String>,
}

impl Writer {
    /// Makes the file and writes its first line. A pipe or a character device is written to as it is.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        let failed = |source| CreateError::of(path, source);
        let streams = is_stream(path);
        let file = if streams { File::options().write(true).open(path) } else { File::create_new(path) };
        let file = file.map_err(failed)?;
        let mut writer = Self::of(path, header, Rewritten { file, length: 0, blocks: 0 });
        writer.streams = streams;
        writer.append(&Line::Header(Box::new(header.clone()))).map_err(failed)?;
        Ok(writer)
    }

    /// Goes on with an interrupted recording. Of what it holds, the turns that `keep` denies
    /// are dropped.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written; it then stays as it was.
    pub fn resume(path: &Path, keep: &dyn Fn(TurnOf) -> bool) -> Result<Self, CreateError> {
        let (header, rewritten) = resume::in_place(path, keep)
            .map_err(|source| CreateError::Io { path: path.to_owned(), source })?;
        Ok(Self::of(path, &header, rewritten))
    }

    fn of(path: &Path, header: &Header, file: Rewritten) -> Self {
        Self {
            file: file.file,
            path: path.to_owned(),
            complete: file.length,
            blocks: file.blocks,
            most_blocks: BLOCKS_AT_LEAST.max(BLOCKS_PER_CONDITION * header.conditions.len()),
            streams: false,
            lost: 0,
            reason: None,
        }
    }

    /// Whether [`create`](Self::create) would succeed, for work that is long before its first line.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    pub fn check(path: &Path) -> Result<(), CreateError> {
        if is_stream(path) {
            return Ok(());
        }
        File::create_new(path)
            .and_then(|_| std::fs::remove_file(path))
            .map_err(|source| CreateError::of(path, source))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line. A line that does not fit on the disk is counted, not half kept.
    pub fn write(&mut self, line: &Line) {
        if let Err(error) = self.append(line) {
            self.lost += 1;
            self.reason.get_or_insert_with(|| error.to_string());
            return;
        }
        self.blocks += usize::from(matches!(line, Line::Block(_)));
        if self.blocks > self.most_blocks && !self.streams {
            self.compact();
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        if let Err(error) = self.file.write_all(&bytes) {
            self.cut_incomplete();
            return Err(error);
        }
        self.complete += bytes.len() as u64;
        Ok(())
    }

    /// Takes back a half-written line, so that later ones can still be appended.
    fn cut_incomplete(&mut self) {
        // If this fails too, the reader meets one unreadable line; the loss is counted already.
        drop(self.file.set_len(self.complete));
        drop(self.file.seek(SeekFrom::Start(self.complete)));
    }

    /// Joins neighbouring blocks; on any trouble the file simply stays as it is.
    fn compact(&mut self) {
        match compact::in_place(&self.path) {
            Ok(new) => {
                (self.file, self.complete, self.blocks) = (new.file, new.length, new.blocks);
                self.most_blocks = self.most_blocks.max(2 * self.blocks);
            }
            Err(_) => self.most_blocks *= 2,
        }
    }

    /// What could not be written, if anything.
    pub fn incomplete(&self) -> Option<Caveat> {
        let reason = self.reason.clone()?;
        Some(Caveat::RecordingIncomplete { lines_lost: self.lost, reason })
    }

    /// Joins what can be joined and waits until the disk has it.
    pub fn close(mut self) -> Option<Caveat> {
        if self.streams {
            return self.incomplete();
        }
        if self.blocks > BLOCKS_AT_LEAST {
            self.compact();
        }
        if let Err(error) = self.file.sync_data() {
            self.reason.get_or_insert_with(|| error.to_string());
        }
        self.incomplete()
    }
}

/// Whether what is written to `path` is gone at once, as with a pipe or a character device.
pub fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_fifo() || kind.is_char_device()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;
    use crate::reader::testing::{block, header};
    use howlate_model::{Distribution, Latency, LoadBlock, MonotonicTime};

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(Writer::create(&path, &header(1)), Err(CreateError::Exists { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        let nowhere = folder.path().join("no/such/folder");
        assert!(matches!(Writer::create(&nowhere, &header(1)), Err(CreateError::Io { .. })));
    }

    #[test]
    fn a_pipe_gets_every_line_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path).unwrap().lines().count()
        });
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        // More than are ever kept in a file.
        for round in 0..2_000 {
            writer.write(&Line::Block(Box::new(block(0, round, 5))));
        }
        assert_eq!(writer.close(), None);
        assert_eq!(reader.join().unwrap(), 2_001);
    }

    #[test]
    fn a_full_disk_loses_lines_not_the_recording() {
        // /dev/full fails every write with ENOSPC, as a full disk does.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        writer.write(&Line::Block(Box::new(block(0, 0, 5))));
        let good =
            std::mem::replace(&mut writer.file, File::options().write(true).open("/dev/full").unwrap());
        writer.write(&Line::Block(Box::new(block(0, 1, 5))));
        writer.file = good;
        writer.write(&Line::Block(Box::new(block(0, 2, 5))));
        assert!(matches!(writer.close(), Some(Caveat::RecordingIncomplete { lines_lost: 1, .. })));
        assert_eq!(Reader::open(&path).unwrap().map(Result::unwrap).count(), 2);
    }

    /// Three context switches in one second of a turn.
    fn load(second: i64) -> LoadBlock {
        LoadBlock {
            conditions: vec![0, 1],
            round: 0,
            from_ns: MonotonicTime::from_nanos(second),
            until_ns: MonotonicTime::from_nanos(second + 1),
            parts: vec![],
            context_switches: Some(3),
            interrupts: None,
        }
    }

    #[test]
    fn a_long_run_keeps_every_wake_up_in_a_bounded_number_of_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(2)).unwrap();
        let mut expected = Distribution::default();
        for second in 0..4_000 {
            let one = block(second % 2, 0, i64::from(second) * 10);
            expected.merge(&one.latency);
            writer.write(&Line::Block(Box::new(one)));
            writer.write(&Line::Load(load(i64::from(second))));
        }
        assert_eq!(writer.close(), None);
        let mut got = Distribution::default();
        let (mut lines, mut loads, mut switches) = (0, 0, 0);
        for line in Reader::open(&path).unwrap().map(Result::unwrap) {
            match line {
                Line::Block(block) => {
                    got.merge(&block.latency);
                    lines += 1;
                }
                Line::Load(load) => {
                    switches += load.context_switches.unwrap();
                    loads += 1;
                }
                _ => {}
            }
        }
        assert_eq!(got, expected);
        assert_eq!(switches, 3 * 4_000);
        assert!(lines <= BLOCKS_AT_LEAST && loads <= BLOCKS_AT_LEAST, "{lines} {loads}");
        assert_eq!(got.max(), Some(Latency::from_nanos(39_990)));
    }
}
