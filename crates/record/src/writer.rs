//! Writing a recording as it happens.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_model::{Caveat, Header, Line, NotWritten, Worded};

use crate::rewrite::folder_of;
use crate::stream::Stream;
use crate::{TurnOf, compact, lock, resume};

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
    /// Another run writes it.
    #[error("another howlate writes {} at present", path.display())]
    Busy {
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
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path: path.to_owned() },
            io::ErrorKind::ResourceBusy => Self::Busy { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

/// An open recording. Once begun, it never fails: what cannot be written is counted.
#[derive(Debug)]
pub struct Writer {
    target: Target,
    path: PathBuf,
    /// Length of the file up to the last complete line.
    complete: u64,
    blocks: usize,
    most_blocks: usize,
    written: u64,
    lost: u64,
    reason: Option<Worded<NotWritten>>,
    /// The line that is being written; its room is for all of them.
    line: Vec<u8>,
}

/// Where lines go.
#[derive(Debug)]
enum Target {
    File(File),
    /// A pipe or a device: what is written is gone.
    Stream(Stream),
}

impl Writer {
    /// Makes the file and writes its first line. A pipe or a character device is written to as it is.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        Self::create_until(path, header, &Arc::default())
    }

    /// The same; the reader of a pipe is waited for only until `interrupted` is set.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    pub fn create_until(
        path: &Path,
        header: &Header,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, CreateError> {
        let failed = |source| CreateError::new(path, source);
        let target = Target::open(path, interrupted).map_err(failed)?;
        let mut writer = Self::new(path, header, target);
        let begun = writer.append(&Line::Header(Box::new(header.clone())));
        if let (Err(_), Target::File(_)) = (&begun, &writer.target) {
            // An empty file would only be in the way of the next attempt.
            drop(std::fs::remove_file(path));
        }
        begun.map_err(failed)?;
        Ok(writer)
    }

    /// Goes on with an interrupted recording. Of what it holds, the turns that `keep` denies
    /// are dropped.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written; it then stays as it was.
    pub fn resume(path: &Path, keep: &dyn Fn(TurnOf) -> bool) -> Result<Self, CreateError> {
        howlate_safe_path::sweep(folder_of(path));
        let (header, new) = resume::in_place(path, keep).map_err(|source| CreateError::new(path, source))?;
        let (length, blocks) = (new.length, new.blocks);
        Ok(Self { complete: length, blocks, ..Self::new(path, &header, Target::File(new.file)) })
    }

    fn new(path: &Path, header: &Header, target: Target) -> Self {
        Self {
            target,
            path: path.to_owned(),
            complete: 0,
            blocks: 0,
            most_blocks: BLOCKS_AT_LEAST.max(BLOCKS_PER_CONDITION * header.conditions.len()),
            written: 0,
            lost: 0,
            reason: None,
            line: Vec::new(),
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
            .map_err(|source| CreateError::new(path, source))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line. A line that does not fit on the disk is counted, not half kept.
    pub fn write(&mut self, line: &Line) {
        if let Err(error) = self.append(line) {
            self.lost += 1;
            self.reason.get_or_insert_with(|| (&error).into());
            return;
        }
        self.blocks += usize::from(matches!(line, Line::Block(_)));
        if self.blocks > self.most_blocks {
            self.compact();
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        if let Err(error) = self.target.write_all(&self.line) {
            self.cut_incomplete();
            return Err(error);
        }
        self.complete += self.line.len() as u64;
        self.written += 1;
        Ok(())
    }

    /// Takes back a half-written line, so that later ones can still be appended.
    fn cut_incomplete(&mut self) {
        let Target::File(file) = &mut self.target else { return };
        // If this fails too, the reader meets one unreadable line; the loss is counted already.
        drop(file.set_len(self.complete));
        drop(file.seek(SeekFrom::Start(self.complete)));
    }

    /// Joins neighbouring blocks; on any trouble the file simply stays as it is.
    fn compact(&mut self) {
        // What is at the path by now may be another's.
        if !self.is_in_place() {
            return;
        }
        match compact::in_place(&self.path) {
            Ok(new) => {
                (self.complete, self.blocks) = (new.length, new.blocks);
                self.target = Target::File(new.file);
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
        if self.blocks > BLOCKS_AT_LEAST {
            self.compact();
        }
        let Target::File(file) = &self.target else { return self.incomplete() };
        if let Err(error) = file.sync_data() {
            self.reason.get_or_insert_with(|| (&error).into());
        }
        if !self.is_in_place() {
            (self.lost, self.reason) = (self.lost + self.written, Some(NotWritten::FileReplaced.into()));
        }
        self.incomplete()
    }

    /// Whether the recording is a file, and still where it was begun.
    fn is_in_place(&self) -> bool {
        matches!(&self.target, Target::File(file) if lock::is_at(file, &self.path))
    }
}

impl Target {
    fn open(path: &Path, interrupted: &Arc<AtomicBool>) -> io::Result<Self> {
        if is_stream(path) {
            return Stream::open(path, Arc::clone(interrupted)).map(Self::Stream);
        }
        howlate_safe_path::sweep(folder_of(path));
        let file = File::create_new(path)?;
        lock::lock(&file)?;
        Ok(Self::File(file))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all(bytes),
            Self::Stream(stream) => stream.write_all(bytes),
        }
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
        let full = Target::File(File::options().write(true).open("/dev/full").unwrap());
        let good = std::mem::replace(&mut writer.target, full);
        writer.write(&Line::Block(Box::new(block(0, 1, 5))));
        writer.target = good;
        writer.write(&Line::Block(Box::new(block(0, 2, 5))));
        assert!(matches!(writer.close(), Some(Caveat::RecordingIncomplete { lines_lost: 1, .. })));
        assert_eq!(Reader::open(&path).unwrap().map(Result::unwrap).count(), 2);
    }

    #[test]
    fn a_recording_that_is_removed_is_said_to_be_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        std::fs::remove_file(&path).unwrap();
        writer.write(&Line::Block(Box::new(block(0, 0, 5))));
        let lost = writer.close();
        assert!(matches!(lost, Some(Caveat::RecordingIncomplete { lines_lost: 2, .. })), "{lost:?}");

        let mut writer = Writer::create(&path, &header(1)).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "another's").unwrap();
        writer.write(&Line::Block(Box::new(block(0, 0, 5))));
        assert!(writer.close().is_some());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "another's");
    }

    #[test]
    fn one_run_writes_a_recording_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let writer = Writer::create(&path, &header(1)).unwrap();
        let resume = || Writer::resume(&path, &|_| true);
        assert!(matches!(resume(), Err(CreateError::Busy { .. })));
        drop(writer);
        let resumed = resume().unwrap();
        assert!(matches!(resume(), Err(CreateError::Busy { .. })), "the rewritten one is locked too");
        drop(resumed);
        assert!(resume().is_ok());
    }

    #[test]
    fn a_pipe_that_nobody_reads_does_not_keep_a_run_that_is_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let interrupted = Arc::new(AtomicBool::new(true));
        assert!(matches!(Writer::create_until(&path, &header(1), &interrupted), Err(CreateError::Io { .. })));
        let _reader = File::options().read(true).write(true).open(&path).unwrap();
        let mut writer = Writer::create_until(&path, &header(1), &interrupted).unwrap();
        for round in 0..2_000 {
            writer.write(&Line::Block(Box::new(block(0, round, 5))));
        }
        assert!(matches!(writer.close(), Some(Caveat::RecordingIncomplete { .. })));
    }

    /// Three context switches in one second of a turn.
    fn load(second: i64) -> LoadBlock {
        LoadBlock {
            conditions: vec![0, 1],
            round: 0,
            from: MonotonicTime::from_nanos(second),
            until: MonotonicTime::from_nanos(second + 1),
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
