//! Writing a recording as it happens.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_model::{AsText, Caveat, Header, Line, WriteFailure};

use crate::complete_prefix::Remains;
use crate::rewrite::{blocks_of, folder_of};
use crate::target::{Target, is_stream};
use crate::{CreateError, TurnOf, join_blocks, lock, resume};

/// Blocks, or what counts as such, that a recording may hold per condition before neighbours are joined.
const BLOCKS_PER_CONDITION: usize = 64;
/// Blocks that any recording may hold.
const BLOCKS_AT_LEAST: usize = 1_024;

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
    reason: Option<AsText<WriteFailure>>,
    /// The first line: without it, nobody could read the others.
    header: Vec<u8>,
    /// The line that is being written; its room is for all of them.
    line: Vec<u8>,
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
        log::debug!("recording to {}", path.display());
        let failed = |source| CreateError::new(path, source);
        let target = Target::open(path, interrupted).map_err(failed)?;
        let mut writer = Self::new(path, header, target);
        let begun = writer.append(&Line::Header(Box::new(header.clone())));
        if let (Err(_), Target::File(_)) = (&begun, &writer.target) {
            // An empty file would only be in the way of the next attempt.
            drop(std::fs::remove_file(path));
        }
        begun.map_err(failed)?;
        writer.header.clone_from(&writer.line);
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
        let mut resumed = Self::new(path, &header, Target::File(new.file));
        (resumed.complete, resumed.blocks) = (length, blocks);
        put_line(&mut resumed.header, &Line::Header(Box::new(header)))
            .map_err(|source| CreateError::new(path, source))?;
        Ok(resumed)
    }

    fn new(path: &Path, header: &Header, target: Target) -> Self {
        Self {
            target,
            path: path.to_owned(),
            complete: 0,
            blocks: 0,
            most_blocks: BLOCKS_AT_LEAST.max(BLOCKS_PER_CONDITION.saturating_mul(header.conditions.len())),
            written: 0,
            lost: 0,
            reason: None,
            header: Vec::new(),
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
            self.lost = self.lost.saturating_add(1);
            self.reason.get_or_insert_with(|| (&error).into());
            return;
        }
        self.blocks = self.blocks.saturating_add(blocks_of(line));
        if self.blocks > self.most_blocks {
            self.compact();
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        self.keep_what_is_left()?;
        self.line.clear();
        put_line(&mut self.line, line)?;
        if let Err(error) = self.target.write_all(&self.line) {
            self.cut_incomplete();
            return Err(error);
        }
        self.complete = self.complete.saturating_add(self.line.len() as u64);
        self.written = self.written.saturating_add(1);
        Ok(())
    }

    /// Somebody else may have cut the file, or added to it: goes on where it ends, without a hole, and behind its first line.
    fn keep_what_is_left(&mut self) -> io::Result<()> {
        let Target::File(file) = &mut self.target else { return Ok(()) };
        let metadata = file.metadata()?;
        let found = metadata.len();
        if found == self.complete || !metadata.is_file() {
            return Ok(());
        }
        let reason = WriteFailure::FileChanged { found, written: self.complete };
        self.reason.get_or_insert_with(|| reason.into());
        if found > self.complete {
            // A half line of somebody else's would spoil ours.
            self.complete = found;
            file.seek(SeekFrom::End(0))?;
            file.write_all(b"\n")?;
            self.complete = self.complete.saturating_add(1);
            return Ok(());
        }
        let remains = Remains::read(file, found)?;
        self.lost = self.lost.saturating_add(self.written.saturating_sub(remains.lines).max(1));
        (self.written, self.complete) = (remains.lines, remains.length);
        file.set_len(self.complete)?;
        file.seek(SeekFrom::Start(self.complete))?;
        if self.complete == 0 {
            file.write_all(&self.header)?;
            (self.written, self.complete) = (1, self.header.len() as u64);
        }
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
        match join_blocks::in_place(&self.path) {
            Ok(new) => {
                (self.complete, self.blocks) = (new.length, new.blocks);
                self.target = Target::File(new.file);
                self.most_blocks = self.most_blocks.max(self.blocks.saturating_mul(2));
            }
            Err(_) => self.most_blocks = self.most_blocks.saturating_mul(2),
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
        let whole = self.keep_what_is_left();
        let Target::File(file) = &self.target else { return self.incomplete() };
        if let Err(error) = whole {
            self.reason.get_or_insert_with(|| (&error).into());
        }
        if let Err(error) = file.sync_data() {
            // Of what it had taken, nobody knows which lines the disk has.
            self.lost = self.lost.saturating_add(self.written);
            self.reason.get_or_insert_with(|| WriteFailure::unconfirmed(&error));
        }
        if !self.is_in_place() {
            let reason =
                lock::path_of(file).map_or(WriteFailure::FileReplaced, |to| WriteFailure::FileMoved { to });
            (self.lost, self.reason) = (self.lost.saturating_add(self.written), Some(reason.into()));
        }
        self.incomplete()
    }

    /// Whether the recording is a file, and still where it was begun.
    fn is_in_place(&self) -> bool {
        matches!(&self.target, Target::File(file) if lock::is_at(file, &self.path))
    }
}

/// Adds one line of a recording.
fn put_line(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    line.to_json(text)?;
    text.push(b'\n');
    Ok(())
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

    /// Writes three blocks; before the third, somebody else does something to the file.
    fn disturbed(disturb: impl Fn(&Path)) -> (tempfile::TempDir, PathBuf, Caveat) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        (0..2).for_each(|round| writer.write(&Line::Block(Box::new(block(0, round, 5)))));
        disturb(&path);
        writer.write(&Line::Block(Box::new(block(0, 2, 5))));
        let caveat = writer.close().unwrap();
        (folder, path, caveat)
    }

    fn cut(path: &Path, less: impl Fn(u64) -> u64) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(less(file.metadata().unwrap().len())).unwrap();
    }

    #[track_caller]
    fn check_disturbed(disturb: impl Fn(&Path), lost: u64, left: usize) {
        let (_folder, path, caveat) = disturbed(disturb);
        let Caveat::RecordingIncomplete { lines_lost, reason } = caveat else { panic!("{caveat:?}") };
        assert!(matches!(reason, AsText::Value(WriteFailure::FileChanged { .. })), "{reason}");
        let read: Vec<_> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!((lines_lost, read.len()), (lost, left));
    }

    #[test]
    fn one_that_is_cut_meanwhile_stays_readable_and_is_said_to_be_cut() {
        check_disturbed(|path| cut(path, |_| 0), 3, 1);
        check_disturbed(|path| cut(path, |length| length - 5), 1, 2);
        check_disturbed(|path| cut(path, |_| 40), 3, 1);
    }

    #[test]
    fn one_that_is_cut_at_the_end_is_said_to_be_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        writer.write(&Line::Block(Box::new(block(0, 0, 5))));
        cut(&path, |length| length - 5);
        assert!(matches!(writer.close(), Some(Caveat::RecordingIncomplete { lines_lost: 1, .. })));
        assert_eq!(Reader::open(&path).unwrap().count(), 0);
    }

    #[test]
    fn what_another_adds_is_left_and_said() {
        let (_folder, path, caveat) = disturbed(|path| {
            File::options().append(true).open(path).unwrap().write_all(b"another's").unwrap()
        });
        assert!(caveat_says(&caveat, "bytes long"), "{caveat:?}");
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!((text.lines().count(), text.lines().nth(3)), (5, Some("another's")));
    }

    #[test]
    fn one_that_is_moved_says_where_to() {
        let (folder, _, caveat) =
            disturbed(|path| std::fs::rename(path, path.with_extension("old")).unwrap());
        let to = folder.path().join("a.old");
        assert!(caveat_says(&caveat, &format!("all lines are in {}", to.display())), "{caveat:?}");
        assert_eq!(Reader::open(&to).unwrap().map(Result::unwrap).count(), 3);
    }

    fn caveat_says(caveat: &Caveat, words: &str) -> bool {
        matches!(caveat, Caveat::RecordingIncomplete { reason, .. } if reason.to_string().contains(words))
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
            idle_entries: Vec::new(),
        }
    }

    #[test]
    fn what_was_late_in_a_long_turn_is_joined_and_nothing_of_it_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path, &header(1)).unwrap();
        for minute in 0..500 {
            let mut why = crate::reader::testing::why(0, u32::from(minute >= 250));
            (why.from, why.until) =
                (MonotonicTime::from_nanos(minute), MonotonicTime::from_nanos(minute + 1));
            why.ledger
                .add_undecomposed(Latency::from_nanos(minute), howlate_model::UndecomposedReason::LostEvents);
            writer.write(&Line::Why(Box::new(why)));
        }
        assert_eq!(writer.close(), None);
        let (mut late, mut lines) = ([0, 0], 0);
        for line in Reader::open(&path).unwrap().map(Result::unwrap) {
            let Line::Why(why) = line else { continue };
            late[why.round as usize] += why.ledger.undecomposed();
            assert!(why.until.since(why.from).as_nanos() >= 1);
            lines += 1;
        }
        assert_eq!(late, [250, 250], "turns are not joined with one another");
        assert!(lines <= BLOCKS_AT_LEAST / crate::rewrite::BLOCKS_OF_LEDGER, "{lines}");
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
