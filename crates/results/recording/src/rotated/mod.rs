//! A recording that goes on for weeks: a folder of recordings, the oldest of which make room for the newest.
//!
//! ```text
//! /var/lib/howlate/.howlate-record                    who writes, locked by that process
//!                  00000017-20261125T021500Z.jsonl    whole recordings, each with a header
//!                  00000018-20261125T031200Z.jsonl    the one that is written
//!                  00000018-….trace.json              made beside it, and removed with it
//! ```
//!
//! Numbers give the order, also where the clock of the day was set back; times say where to look.

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

pub use self::files::{LineFilter, ReadBetween, is_rotated, read_between};
use self::files::{Segment, file_name, segments};
pub use self::follow::Follow;
use self::lock::Lock;
pub use self::lock::{has_ended, recorder_of};
use self::losses::Losses;
pub use self::losses::{Account, Loss};
use crate::disk_remedy::disk_remedy;

/// Less than that has no room for the minutes of a busy machine.
pub const LEAST_SIZE: u64 = 1 << 20;
/// A file is ended when it is this long, or an eighth of all: what is removed to make room is not much.
const LONGEST_FILE: u64 = 4 << 20;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of all files together.
    pub size: u64,
    /// From when on they are removed; `None`: never for their age.
    pub age: Option<Span>,
}

/// UnsafeReason no recording can be kept in a folder.
#[derive(Debug, thiserror::Error)]
pub enum NotRotated {
    /// Another process writes there.
    #[error("another recorder writes to {}: {holder}", path.display())]
    Held {
        /// The folder of the recording.
        path: PathBuf,
        /// Its process, and since when.
        holder: String,
    },
    /// The path leads somewhere else.
    #[error("{} is a link; refusing to follow it", path.display())]
    Link {
        /// The link that was found.
        path: PathBuf,
    },
    /// It is not safe to write there.
    #[error(transparent)]
    UnsafePath(#[from] UnsafePath),
    /// There would be no room for what is to be kept.
    #[error("{size} bytes are too few: one busy minute takes up to {LEAST_SIZE}")]
    TooSmall {
        /// What was asked for.
        size: u64,
    },
    /// The folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file or folder that could not be written.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl NotRotated {
    /// What to do.
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

/// What a file beside holds, and what it is called: a moment, and behind it, after a dash, why that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideFile {
    /// What the recorder has seen itself.
    Seen(String),
    /// What somebody has asked to keep, or told it: that takes no room from what it has seen.
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

/// The file that is written.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    /// Up to the last complete line.
    length: u64,
}

/// Makes the first line of each file.
type Begin = Box<dyn FnMut() -> Header>;

/// An open recording of this kind. Once begun, it never fails: what cannot be written is counted.
pub struct Rotated {
    folder: PrivateFolder,
    _lock: Lock,
    bounds: Bounds,
    begin: Begin,
    open: Option<Open>,
    /// Files that are complete, the oldest first, with their lengths.
    closed: VecDeque<(PathBuf, u64)>,
    next: u64,
    /// Files beside those, the oldest first: each goes with the file that was written when it was made, or before.
    beside: VecDeque<(PathBuf, u64)>,
    /// Bytes that are not those of files: the lock's.
    others: u64,
    removed: Vec<RemovedFiles>,
    losses: Losses,
}

impl Rotated {
    /// Goes on in the folder, which is made if it is not there; `holder` says who does. Each file begins with a line that
    /// `begin` makes.
    ///
    /// # Errors
    ///
    /// When another process writes there, or it is not safe or not possible to write.
    pub fn open(
        path: &Path,
        holder: &str,
        bounds: Bounds,
        begin: impl FnMut() -> Header + 'static,
    ) -> Result<Self, NotRotated> {
        if bounds.size < LEAST_SIZE {
            return Err(NotRotated::TooSmall { size: bounds.size });
        }
        if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(NotRotated::Link { path: path.to_owned() });
        }
        let folder = PrivateFolder::create(path)?;
        let lock = Lock::take(&folder, holder)?;
        let failed = |source| NotRotated::Io { path: folder.path().to_owned(), source };
        files::remove_parts(folder.path()).map_err(failed)?;
        let there = segments(folder.path()).map_err(failed)?;
        let next = there.last().map_or(1, |last| last.number.saturating_add(1));
        let length = |one: Segment| (one.path.metadata().map_or(0, |found| found.len()), one.path);
        let closed = there.into_iter().map(length).map(|(length, path)| (path, length)).collect();
        let beside = files::beside(folder.path()).map_err(failed)?;
        let mut rotated = Self {
            others: lock.length(),
            folder,
            _lock: lock,
            bounds,
            begin: Box::new(begin),
            open: None,
            closed,
            next,
            beside,
            removed: Vec::new(),
            losses: Losses::default(),
        };
        let (path, begun) = (rotated.folder.path().to_owned(), rotated.next_file());
        begun.map_err(|source| NotRotated::Io { path, source })?;
        Ok(rotated)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether what is written is still found where it is: neither the file nor the folder was removed, or renamed. A disk that does
    /// not answer says nothing about that.
    pub fn is_in_place(&self) -> bool {
        let Some(open) = &self.open else { return true };
        let id = |found: std::fs::Metadata| (found.dev(), found.ino());
        match (open.file.metadata().map(id), open.path.symlink_metadata().map(id)) {
            (Ok(written), Ok(there)) => written == there,
            (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => true,
        }
    }

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        let closed = self.closed.iter().fold(0, |sum: u64, (_, length)| sum.saturating_add(*length));
        let open = self.open.as_ref().map_or(0, |open| open.length);
        closed.saturating_add(open).saturating_add(self.others).saturating_add(self.size_beside())
    }

    fn size_beside(&self) -> u64 {
        self.beside.iter().fold(0, |sum: u64, (_, length)| sum.saturating_add(*length))
    }

    fn size_of(&self, kind: &SideFile) -> u64 {
        let of_kind = self.beside.iter().filter(|(path, _)| kind.is_same_kind(path));
        of_kind.fold(0, |sum: u64, (_, length)| sum.saturating_add(*length))
    }

    /// Writes a file beside, named after the one that is written. Those of its kind make room for it, the oldest first: of what was
    /// seen, all together have a quarter of the room at most, and of what was asked for an eighth. Returns what it is called; `None`:
    /// there is no room.
    pub fn write_beside(&mut self, what: &SideFile, bytes: &[u8]) -> Option<String> {
        let length = bytes.len() as u64;
        let most = what.part_of(self.bounds.size);
        while self.size_of(what).saturating_add(length) > most {
            let oldest = self.beside.iter().position(|(path, _)| what.is_same_kind(path))?;
            let (path, _) = self.beside.remove(oldest)?;
            drop(std::fs::remove_file(path));
        }
        while self.size().saturating_add(length) > self.bounds.size {
            self.remove_oldest(RemovalReason::MaxSize).then_some(())?;
        }
        let name = files::name_beside(self.next.saturating_sub(1), what.name());
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
        self.beside.push_back((path, length));
        Some(name)
    }

    /// Removes a file beside.
    pub fn remove_beside(&mut self, name: &str) {
        let path = self.folder.path().join(name);
        let before = self.beside.len();
        self.beside.retain(|(known, _)| *known != path);
        if self.beside.len() < before {
            drop(std::fs::remove_file(path));
        }
    }

    /// Appends one line; the oldest files make room for it. One that does not fit for all that is counted, not half kept.
    pub fn write(&mut self, line: &Line) {
        match self.append(line) {
            Ok(()) => self.losses.written(),
            Err(error) => self.losses.refused(&error),
        }
    }

    /// What became of lines since the last call.
    pub fn take_account(&mut self) -> Account {
        self.losses.take()
    }

    /// What was removed since the last call.
    pub fn take_removed(&mut self) -> Vec<RemovedFiles> {
        std::mem::take(&mut self.removed)
    }

    /// Waits until the disk has what was written, and removes what is too old at `now`, in seconds since 1970.
    pub fn sync(&mut self, now: i64) {
        if let Some(open) = &self.open {
            self.losses.waited_for(open.file.sync_data());
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

    /// Ends the file that is written, and begins another.
    fn next_file(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            self.losses.waited_for(open.file.sync_data());
            self.closed.push_back((open.path, open.length));
        }
        let header = (self.begin)();
        let path = self.folder.path().join(file_name(self.next, &header.started));
        let bytes = text(&Line::Header(Box::new(header)))?;
        let file = loop {
            match new_file().open(&path) {
                Err(error) if is_full(&error) && self.remove_oldest(RemovalReason::DiskFull) => {}
                made => break made?,
            }
        };
        self.next = self.next.saturating_add(1);
        self.open = Some(Open { file, path: path.clone(), length: 0 });
        let begun = self.put(&bytes);
        if begun.is_err() {
            // Without a first line nobody could read the others.
            self.open = None;
            drop(std::fs::remove_file(path));
        }
        begun
    }

    /// Writes all of it or nothing.
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

    /// Removes the oldest file; `false`: there is none but the one that is written.
    fn remove_oldest(&mut self, reason: RemovalReason) -> bool {
        let Some((path, _)) = self.closed.pop_front() else { return false };
        while let Some((beside, _)) = self.beside.front()
            && files::number(beside) <= files::number(&path)
        {
            drop(std::fs::remove_file(beside));
            self.beside.pop_front();
        }
        drop(std::fs::remove_file(path));
        match self.removed.iter_mut().find(|one| one.reason == reason) {
            Some(known) => known.files = known.files.saturating_add(1),
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

/// A file that is not for everybody: names of programs are in it, and of their users.
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
