//! Writing of a recording while it is measured.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_model::{AsText, Caveat, Header, Line, WriteFailure};

use crate::complete_prefix::CompletePrefix;
use crate::rewrite::{blocks_of, folder_of};
use crate::target::{WriteTarget, is_stream};
use crate::{CreateError, TurnId, join_blocks, lock, resume};

/// Blocks per condition before neighbours are joined.
const BLOCKS_PER_CONDITION: usize = 64;
/// Minimum of that limit.
const BLOCKS_AT_LEAST: usize = 1_024;

/// An open recording. After the header, write errors are counted and not returned.
#[derive(Debug)]
pub struct Writer {
    target: WriteTarget,
    path: PathBuf,
    /// Length of the file up to the last complete line.
    complete: u64,
    blocks: usize,
    most_blocks: usize,
    written: u64,
    lost: u64,
    reason: Option<AsText<WriteFailure>>,
    /// The header line, written again if the file was truncated.
    header: Vec<u8>,
    /// Buffer for a line.
    line: Vec<u8>,
}

impl Writer {
    /// Creates the file and writes the header. Pipes and character devices are written directly.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        Self::create_until(path, header, &Arc::default())
    }

    /// Like [`create`](Self::create); waits for the reader of a pipe until `interrupted` is set.
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
        let target = WriteTarget::open(path, interrupted).map_err(failed)?;
        let mut writer = Self::new(path, header, target);
        let result = writer.append(&Line::Header(Box::new(header.clone())));
        if let (Err(_), WriteTarget::File(_)) = (&result, &writer.target) {
            // An empty file would block the next attempt.
            drop(std::fs::remove_file(path));
        }
        result.map_err(failed)?;
        writer.header.clone_from(&writer.line);
        Ok(writer)
    }

    /// Resumes an interrupted recording, without the turns that `keep` rejects.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written; it then stays unchanged.
    pub fn resume(path: &Path, keep: &dyn Fn(TurnId) -> bool) -> Result<Self, CreateError> {
        howlate_safe_path::sweep(folder_of(path));
        let (header, new) = resume::in_place(path, keep).map_err(|source| CreateError::new(path, source))?;
        let (length, blocks) = (new.length, new.blocks);
        let mut resumed = Self::new(path, &header, WriteTarget::File(new.file));
        (resumed.complete, resumed.blocks) = (length, blocks);
        put_line(&mut resumed.header, &Line::Header(Box::new(header)))
            .map_err(|source| CreateError::new(path, source))?;
        Ok(resumed)
    }

    fn new(path: &Path, header: &Header, target: WriteTarget) -> Self {
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

    /// Checks that [`create`](Self::create) would succeed, before long work.
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

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line. A line that cannot be written is counted and removed completely.
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
        self.adapt_to_changed_file()?;
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

    /// Another process may have truncated or extended the file: continues at its end, after the header.
    fn adapt_to_changed_file(&mut self) -> io::Result<()> {
        let WriteTarget::File(file) = &mut self.target else { return Ok(()) };
        let metadata = file.metadata()?;
        let found = metadata.len();
        if found == self.complete || !metadata.is_file() {
            return Ok(());
        }
        let reason = WriteFailure::FileChanged { found, written: self.complete };
        self.reason.get_or_insert_with(|| reason.into());
        if found > self.complete {
            // Separates a partial line of another process.
            self.complete = found;
            file.seek(SeekFrom::End(0))?;
            file.write_all(b"\n")?;
            self.complete = self.complete.saturating_add(1);
            return Ok(());
        }
        let prefix = CompletePrefix::read(file, found)?;
        self.lost = self.lost.saturating_add(self.written.saturating_sub(prefix.lines).max(1));
        (self.written, self.complete) = (prefix.lines, prefix.length);
        file.set_len(self.complete)?;
        file.seek(SeekFrom::Start(self.complete))?;
        if self.complete == 0 {
            file.write_all(&self.header)?;
            (self.written, self.complete) = (1, self.header.len() as u64);
        }
        Ok(())
    }

    /// Removes a partial line, so that later ones can be appended.
    fn cut_incomplete(&mut self) {
        let WriteTarget::File(file) = &mut self.target else { return };
        // If this fails too, the reader reports one damaged line; the loss is already counted.
        drop(file.set_len(self.complete));
        drop(file.seek(SeekFrom::Start(self.complete)));
    }

    /// Joins neighbouring blocks; on errors the file stays unchanged.
    fn compact(&mut self) {
        // The path may be another file by now.
        if !self.is_in_place() {
            return;
        }
        match join_blocks::in_place(&self.path) {
            Ok(new) => {
                (self.complete, self.blocks) = (new.length, new.blocks);
                self.target = WriteTarget::File(new.file);
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
        let whole = self.adapt_to_changed_file();
        let WriteTarget::File(file) = &self.target else { return self.incomplete() };
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
        matches!(&self.target, WriteTarget::File(file) if lock::is_at(file, &self.path))
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
        let full = WriteTarget::File(File::options().write(true).open("/dev/full").unwrap());
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

    fn caveat_says(caveat: &Caveat, text: &str) -> bool {
        matches!(caveat, Caveat::RecordingIncomplete { reason, .. } if reason.to_string().contains(text))
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
            let block_of_second = block(second % 2, 0, i64::from(second) * 10);
            expected.merge(&block_of_second.latency);
            writer.write(&Line::Block(Box::new(block_of_second)));
            writer.write(&Line::Load(load(i64::from(second))));
        }
        assert_eq!(writer.close(), None);
        let mut merged = Distribution::default();
        let (mut lines, mut loads, mut switches) = (0, 0, 0);
        for line in Reader::open(&path).unwrap().map(Result::unwrap) {
            match line {
                Line::Block(block) => {
                    merged.merge(&block.latency);
                    lines += 1;
                }
                Line::Load(load) => {
                    switches += load.context_switches.unwrap();
                    loads += 1;
                }
                _ => {}
            }
        }
        assert_eq!(merged, expected);
        assert_eq!(switches, 3 * 4_000);
        assert!(lines <= BLOCKS_AT_LEAST && loads <= BLOCKS_AT_LEAST, "{lines} {loads}");
        assert_eq!(merged.max(), Some(Latency::from_nanos(39_990)));
    }
}
