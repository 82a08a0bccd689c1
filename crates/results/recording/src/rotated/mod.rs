//! A recording over weeks: a folder of files, of which the oldest are removed.
//!
//! ```text
//! /var/lib/howlate/.howlate-record                    who writes, locked by that process
//!                  00000017-20261125T021500Z.jsonl    whole recordings, each with a header
//!                  00000018-20261125T031200Z.jsonl    the one that is written
//!                  00000018-….trace.json              made beside it, and removed with it
//! ```
//!
//! Numbers give the order, even if the wall clock was set back; times help to find a file.

mod files;
mod follow;
mod lock;
mod losses;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use howlate_model::{Header, Line, RemovalReason, RemovedFiles, Span};
use howlate_safe_path::{PrivateFolder, UnsafePath, UnsafeReason};

pub use self::files::{LineFilter, ReadSummary, is_rotated, read_between};
use self::files::{RotatedFile, file_name, segments};
pub use self::follow::FolderFollower;
use self::lock::Lock;
pub use self::lock::{has_ended, recorder_of};
use self::losses::WriteStatusCounter;
pub use self::losses::{LostLines, WriteStatus};
use crate::create_error::disk_remedy;

/// Minimum size limit: a minute of a busy machine must fit.
pub const LEAST_SIZE: u64 = 1 << 20;
/// Maximum length of a file, or an eighth of the limit: the unit of removal.
const LONGEST_FILE: u64 = 4 << 20;

/// When old files are removed.
#[derive(Clone, Copy, Debug)]
pub struct RotationLimits {
    /// Maximum bytes of all files.
    pub size: u64,
    /// Maximum age; `None`: unlimited.
    pub age: Option<Span>,
}

/// Why a folder cannot be recorded to.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// Another process records there.
    #[error("another recorder writes to {}: {holder}", path.display())]
    Held {
        /// Folder of the recording.
        path: PathBuf,
        /// Description of the process.
        holder: String,
    },
    /// The path is a link.
    #[error("{} is a link; refusing to follow it", path.display())]
    Link { path: PathBuf },
    /// The folder is not safe.
    #[error(transparent)]
    UnsafePath(#[from] UnsafePath),
    /// The size limit is too small.
    #[error("{size} bytes are too few: one busy minute takes up to {LEAST_SIZE}")]
    TooSmall { size: u64 },
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl RotationError {
    pub fn hint(&self) -> &'static str {
        self.disk_remedy().unwrap_or_else(|| self.usual_hint())
    }

    fn disk_remedy(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => disk_remedy(source),
            Self::UnsafePath(UnsafePath { reason: UnsafeReason::Unreadable { error, .. }, .. }) => {
                disk_remedy(&io::Error::from(*error.as_ref()?))
            }
            _ => None,
        }
    }

    const fn usual_hint(&self) -> &'static str {
        match self {
            Self::Held { .. } => "end it first, or choose another folder with `--out`",
            Self::Link { .. } => "name the folder itself with `--out`",
            Self::TooSmall { .. } => "give at least `--max-size 1M`",
            Self::UnsafePath(_) | Self::Io { .. } => {
                "choose a folder with `--out` that is yours alone to write, and those above it root's"
            }
        }
    }
}

/// A timeline's name: its moment, and after a dash the reason of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideFile {
    /// Observed by the recorder itself.
    Seen(String),
    /// Requested or reported by a program: limited separately.
    Asked(String),
}

impl SideFile {
    fn name(&self) -> &str {
        match self {
            Self::Seen(name) | Self::Asked(name) => name,
        }
    }

    const fn part_of(&self, all: u64) -> u64 {
        match self {
            Self::Seen(_) => all / 4,
            Self::Asked(_) => all / 8,
        }
    }

    fn is_same_kind(&self, path: &Path) -> bool {
        files::is_asked_for(path) == matches!(self, Self::Asked(_))
    }
}

/// The file being written.
#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
    /// Length up to the last complete line.
    length: u64,
}

/// Builds the header of each file.
type Begin = Box<dyn FnMut() -> Header>;

/// An open recording. Once opened, write errors are counted and not returned.
pub struct RotatedRecording {
    folder: PrivateFolder,
    _lock: Lock,
    bounds: RotationLimits,
    begin: Begin,
    open: Option<OpenFile>,
    /// Complete files with their lengths, the oldest first.
    closed: VecDeque<(PathBuf, u64)>,
    next: u64,
    /// Timelines, the oldest first. Each is removed with the file that was current when it was written.
    timelines: VecDeque<(PathBuf, u64)>,
    /// Length of the lock file.
    lock_bytes: u64,
    removed: Vec<RemovedFiles>,
    losses: WriteStatusCounter,
}

impl RotatedRecording {
    /// Opens a folder, created if needed; `holder` describes this process. `begin` builds the header of each file.
    ///
    /// # Errors
    ///
    /// When another process records there, or writing is not safe or not possible.
    pub fn open(
        path: &Path,
        holder: &str,
        bounds: RotationLimits,
        begin: impl FnMut() -> Header + 'static,
    ) -> Result<Self, RotationError> {
        if bounds.size < LEAST_SIZE {
            return Err(RotationError::TooSmall { size: bounds.size });
        }
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(RotationError::Link { path: path.to_owned() });
        }
        let folder = PrivateFolder::create(path)?;
        let lock = Lock::take(&folder, holder)?;
        let failed = |source| RotationError::Io { path: folder.path().to_owned(), source };
        files::remove_parts(folder.path()).map_err(failed)?;
        let existing = segments(folder.path()).map_err(failed)?;
        let next = existing.last().map_or(1, |last| last.number.saturating_add(1));
        let length =
            |file: RotatedFile| (file.path.metadata().map_or(0, |metadata| metadata.len()), file.path);
        let closed = existing.into_iter().map(length).map(|(length, path)| (path, length)).collect();
        let timelines = files::timelines(folder.path()).map_err(failed)?;
        let mut rotated = Self {
            lock_bytes: lock.length(),
            folder,
            _lock: lock,
            bounds,
            begin: Box::new(begin),
            open: None,
            closed,
            next,
            timelines,
            removed: Vec::new(),
            losses: WriteStatusCounter::default(),
        };
        let (path, result) = (rotated.folder.path().to_owned(), rotated.next_file());
        result.map_err(|source| RotationError::Io { path, source })?;
        Ok(rotated)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether folder and file still exist at their paths. `true` if the disk does not answer.
    pub fn is_in_place(&self) -> bool {
        let Some(open) = &self.open else { return true };
        let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        match (open.file.metadata().map(id), open.path.symlink_metadata().map(id)) {
            (Ok(written), Ok(at_path)) => written == at_path,
            (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => true,
        }
    }

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        let closed = self.closed.iter().fold(0, |sum: u64, (_, length)| sum.saturating_add(*length));
        let open = self.open.as_ref().map_or(0, |open| open.length);
        closed.saturating_add(open).saturating_add(self.lock_bytes).saturating_add(self.timelines_size())
    }

    fn timelines_size(&self) -> u64 {
        self.timelines.iter().fold(0, |sum: u64, (_, length)| sum.saturating_add(*length))
    }

    fn size_of(&self, kind: &SideFile) -> u64 {
        let of_kind = self.timelines.iter().filter(|(path, _)| kind.is_same_kind(path));
        of_kind.fold(0, |sum: u64, (_, length)| sum.saturating_add(*length))
    }

    /// Writes a timeline. The oldest of its kind are removed: observed ones have a quarter of the limit, requested
    /// ones an eighth. Returns its name; `None`: no room, or writing failed.
    pub fn write_beside(&mut self, kind: &SideFile, bytes: &[u8]) -> Option<String> {
        let length = bytes.len() as u64;
        let most = kind.part_of(self.bounds.size);
        while self.size_of(kind).saturating_add(length) > most {
            let oldest = self.timelines.iter().position(|(path, _)| kind.is_same_kind(path))?;
            let (path, _) = self.timelines.remove(oldest)?;
            drop(std::fs::remove_file(path));
        }
        while self.size().saturating_add(length) > self.bounds.size {
            self.remove_oldest(RemovalReason::MaxSize).then_some(())?;
        }
        let name = files::name_beside(self.next.saturating_sub(1), kind.name());
        let path = self.folder.path().join(&name);
        if path.exists() {
            return None;
        }
        let part = self.folder.path().join(format!("{name}{}", files::PART));
        let written = new_file()
            .open(&part)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| std::fs::rename(&part, &path));
        if written.is_err() {
            drop(std::fs::remove_file(part));
            return None;
        }
        self.timelines.push_back((path, length));
        Some(name)
    }

    pub fn remove_beside(&mut self, name: &str) {
        let path = self.folder.path().join(name);
        let before = self.timelines.len();
        self.timelines.retain(|(timeline, _)| *timeline != path);
        if self.timelines.len() < before {
            drop(std::fs::remove_file(path));
        }
    }

    /// Appends a line; the oldest files are removed if needed. A line that still does not fit
    /// is counted and removed completely.
    pub fn write(&mut self, line: &Line) {
        match self.append(line) {
            Ok(()) => self.losses.note_written(),
            Err(error) => self.losses.note_failure(&error),
        }
    }

    /// Lines confirmed and lost since the last call.
    pub fn take_write_status(&mut self) -> WriteStatus {
        self.losses.take()
    }

    /// Files removed since the last call.
    pub fn take_removed(&mut self) -> Vec<RemovedFiles> {
        std::mem::take(&mut self.removed)
    }

    /// Syncs, and removes files that are too old at `now`, in seconds since 1970.
    pub fn sync(&mut self, now: i64) {
        if let Some(open) = &self.open {
            self.losses.note_sync(open.file.sync_data());
        }
        let Some(age) = self.bounds.age else { return };
        let oldest = now.saturating_sub(i64::try_from(age.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX));
        while self.closed.front().is_some_and(|(path, _)| files::ended(path).is_some_and(|end| end < oldest))
        {
            self.remove_oldest(RemovalReason::MaxAge);
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let bytes = text(line)?;
        let length = self.open.as_ref().map_or(0, |open| open.length);
        let most = LONGEST_FILE.min(self.bounds.size / 8);
        if self.open.is_none() || length.saturating_add(bytes.len() as u64) > most {
            self.next_file()?;
        }
        self.put(&bytes)
    }

    /// Starts the next file.
    fn next_file(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            self.losses.note_sync(open.file.sync_data());
            self.closed.push_back((open.path, open.length));
        }
        let header = (self.begin)();
        let path = self.folder.path().join(file_name(self.next, &header.started));
        let bytes = text(&Line::Header(Box::new(header)))?;
        let file = loop {
            match new_file().open(&path) {
                Err(error) if is_full(&error) && self.remove_oldest(RemovalReason::DiskFull) => {}
                created => break created?,
            }
        };
        self.next = self.next.saturating_add(1);
        self.open = Some(OpenFile { file, path: path.clone(), length: 0 });
        let result = self.put(&bytes);
        if result.is_err() {
            // A file without header would be unreadable.
            self.open = None;
            drop(std::fs::remove_file(path));
        }
        result
    }

    /// Writes all bytes or none.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let more = bytes.len() as u64;
        while self.size().saturating_add(more) > self.bounds.size {
            if !self.remove_oldest(RemovalReason::MaxSize) {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        loop {
            let Some(open) = &mut self.open else { return Err(io::ErrorKind::NotFound.into()) };
            match open.file.write_all(bytes) {
                Ok(()) => {
                    open.length = open.length.saturating_add(more);
                    return Ok(());
                }
                Err(error) => {
                    drop(open.file.set_len(open.length));
                    drop(open.file.seek(SeekFrom::Start(open.length)));
                    if !is_full(&error) || !self.remove_oldest(RemovalReason::DiskFull) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Removes the oldest file; `false`: only the current one is left.
    fn remove_oldest(&mut self, reason: RemovalReason) -> bool {
        let Some((path, _)) = self.closed.pop_front() else { return false };
        while let Some((timeline, _)) = self.timelines.front()
            && files::number(timeline) <= files::number(&path)
        {
            drop(std::fs::remove_file(timeline));
            self.timelines.pop_front();
        }
        drop(std::fs::remove_file(path));
        match self.removed.iter_mut().find(|entry| entry.reason == reason) {
            Some(entry) => entry.files = entry.files.saturating_add(1),
            None => self.removed.push(RemovedFiles { files: 1, reason }),
        }
        true
    }
}

fn text(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// A new file that other users cannot read: it contains names of programs and users.
fn new_file() -> OpenOptions {
    let mut new = File::options();
    new.write(true).create_new(true).mode(0o640);
    new
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests;
