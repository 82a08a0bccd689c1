//! The directory below which the kernel's files are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use flate2::read::GzDecoder;
use howlate_safe_path::foreign::{self, Within};
use rustix::fs::{CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, readlinkat};

use crate::{Reading, Unreadable};

/// The file at the top of a captured tree that lists, one a line, the paths which the
/// machine refused to open. A tree of ordinary files cannot say so by itself.
pub const REFUSED: &str = "REFUSED";

/// No file of the kernel's that is read here comes near this, but a tree may hold anything, also a device that
/// never ends.
const LARGEST: u64 = 16 << 20;

/// Everything that `from` gives, unless it is more than [`LARGEST`].
fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// The bytes as text. Nearly all are text as they are, which is found out much faster than what is not.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Where the kernel's files are: `/` live, or a directory that holds a captured tree.
#[derive(Debug)]
pub struct Root {
    top: Top,
    refused: BTreeSet<String>,
    /// Paths asked for, where somebody wants to know.
    asked: Option<Mutex<BTreeSet<String>>>,
    /// What was unpacked, which takes longer than reading all the rest and is asked for again.
    unpacked: Mutex<BTreeMap<String, Result<String, Unreadable>>>,
}

/// What paths begin at.
#[derive(Debug)]
enum Top {
    /// `/`.
    Live,
    /// A directory that a stranger may have made; `None`: there is none.
    Tree(Option<Within>),
}

impl Root {
    /// The files of this machine: those below `/`.
    pub fn live() -> Self {
        Self::of(Top::Live, BTreeSet::new())
    }

    /// A tree of files as one machine had them. Whatever is in it, nothing leads out of it, and nothing is waited for.
    pub fn at(directory: impl AsRef<Path>) -> Self {
        let within = foreign::folder(directory.as_ref()).ok();
        let list = within.as_ref().map(|tree| tree.regular(Path::new(REFUSED)).and_then(bounded).map(text));
        let list = list.and_then(Result::ok).unwrap_or_default();
        let refused = list.lines().map(str::trim).filter(|path| !path.is_empty());
        Self::of(Top::Tree(within), refused.map(str::to_owned).collect())
    }

    fn of(top: Top, refused: BTreeSet<String>) -> Self {
        Self { top, refused, asked: None, unpacked: Mutex::default() }
    }

    /// The same, remembering every path asked for, so that a capture copies exactly what was read.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { asked: Some(Mutex::default()), ..self }
    }

    /// The trimmed content of a text file; `path` is absolute, as on the examined system.
    pub fn read(&self, path: &str) -> Result<String, Unreadable> {
        let bytes = self.open(path).and_then(|file| Ok(bounded(file)?));
        match &bytes {
            Ok(bytes) => log::trace!("{path}: {} bytes", bytes.len()),
            Err(error) => log::debug!("{path}: {error}"),
        }
        Ok(text(bytes?).trim_matches(['\0', ' ', '\t', '\n']).to_owned())
    }

    /// The trimmed content of a text file compressed with gzip, which does not change while the kernel runs.
    pub fn read_compressed(&self, path: &str) -> Result<String, Unreadable> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        unpacked.entry(path.to_owned()).or_insert_with(|| self.unpack(path)).clone()
    }

    fn unpack(&self, path: &str) -> Result<String, Unreadable> {
        let bytes = bounded(GzDecoder::new(self.open(path)?))?;
        Ok(text(bytes).trim().to_owned())
    }

    /// The first bytes of a file, so many at most, whatever they are.
    pub fn beginning(&self, path: &str, most: u64) -> Result<Vec<u8>, Unreadable> {
        let mut bytes = Vec::new();
        self.open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A file that is read again and again.
    pub(crate) fn open(&self, path: &str) -> Result<File, Unreadable> {
        self.admit(path)?;
        Ok(match &self.top {
            Top::Live => calm(OpenOptions::new().read(true)).open(path)?,
            Top::Tree(_) => self.tree()?.regular(Path::new(path))?,
        })
    }

    fn tree(&self) -> io::Result<&Within> {
        match &self.top {
            Top::Tree(Some(within)) => Ok(within),
            Top::Live | Top::Tree(None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// A file as a process sees its path, with the links of that process, which may be another user's: a file, or nothing.
    ///
    /// # Errors
    ///
    /// When it is not there, no file, or not ours to read.
    pub fn file_of_process(&self, process: u32, path: &str) -> Result<File, Unreadable> {
        let own = format!("/proc/{process}/root");
        self.admit(&format!("{own}{path}"))?;
        Ok(match &self.top {
            Top::Live => foreign::folder(Path::new(&own))?,
            Top::Tree(_) => self.tree()?.folder(Path::new(&own))?,
        }
        .regular(Path::new(path))?)
    }

    /// The names in a directory, numbers in numeric order; empty where there is none.
    ///
    /// The directory itself is not remembered: what is read in it will be.
    pub fn list(&self, path: &str) -> Vec<String> {
        let mut names = self.names(path).unwrap_or_default();
        names.sort_by_cached_key(|name| numeric_order(name));
        names
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let name = |entry: &DirEntry| entry.file_name().to_str().ok().map(str::to_owned);
        let names = self.entries(path)?.into_iter().filter_map(|entry| name(&entry));
        Ok(names.filter(|name| !matches!(name.as_str(), "." | "..")).collect())
    }

    fn entries(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = match &self.top {
            Top::Live => rustix::fs::open(path, flags, Mode::empty())?,
            Top::Tree(_) => self.tree()?.directory(Path::new(path))?,
        };
        Ok(Dir::new(opened)?.flatten().collect())
    }

    /// The directories in one, with their numbers, in no order.
    pub(crate) fn directories(&self, path: &str) -> Vec<(String, u64)> {
        let entries = self.entries(path).unwrap_or_default().into_iter();
        let directories = entries.filter(|entry| entry.file_type() == FileType::Directory);
        let named = directories.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.ino()));
        named.filter(|(name, _)| !matches!(name.as_str(), "." | "..")).collect()
    }

    /// Of a directory, the number.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.stat(path).ok().map(|found| found.st_ino)
    }

    /// Where a link leads, as the kernel writes it: `/proc/PID/exe`. `None` where there is none, or none that this process may read.
    pub fn target(&self, path: &str) -> Option<String> {
        self.admit(path).ok()?;
        let target = match &self.top {
            Top::Live => readlinkat(CWD, path, Vec::new()),
            Top::Tree(_) => readlinkat(self.tree().ok()?.link(Path::new(path)).ok()?, "", Vec::new()),
        };
        Some(target.ok()?.to_string_lossy().into_owned())
    }

    /// Whether there is a file or directory of this name.
    pub fn has(&self, path: &str) -> bool {
        self.remember(path);
        self.stat(path).is_ok()
    }

    fn stat(&self, path: &str) -> io::Result<Stat> {
        Ok(match &self.top {
            Top::Live => rustix::fs::stat(path)?,
            Top::Tree(_) => fstat(self.tree()?.place(Path::new(path))?)?,
        })
    }

    /// Whether the kernel's files on processes are there, as they are not after `chroot` into a bare tree.
    pub fn has_processes(&self) -> bool {
        self.has("/proc/self") || self.list("/proc").iter().any(|name| name.parse::<u32>().is_ok())
    }

    /// Whether this process may open a file for writing. Nothing is written.
    pub fn writable(&self, path: &str) -> Result<(), Unreadable> {
        self.admit(path)?;
        match &self.top {
            Top::Live => calm(OpenOptions::new().write(true)).open(path).map(drop)?,
            Top::Tree(_) => self.tree()?.for_writing(Path::new(path)).map(drop)?,
        }
        Ok(())
    }

    /// Whether the kernel lets anybody write to a file: a setting that cannot be changed has no right to write, not even for its owner.
    pub fn is_settable(&self, path: &str) -> bool {
        self.remember(path);
        self.stat(path).is_ok_and(|found| found.st_mode & 0o200 != 0)
    }

    /// Every path asked for so far, in order, if this root [remembers](Self::remembering).
    pub fn asked(&self) -> Vec<String> {
        let asked = self.asked.iter();
        asked.flat_map(|asked| asked.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }

    /// Reads a file and keeps its path with the outcome.
    pub fn reading(&self, path: impl Into<String>) -> Reading {
        let path = path.into();
        Reading { content: self.read(&path), path }
    }

    fn admit(&self, path: &str) -> Result<(), Unreadable> {
        self.remember(path);
        if self.refused.contains(path) { Err(Unreadable::Permission) } else { Ok(()) }
    }

    fn remember(&self, path: &str) {
        if let Some(asked) = &self.asked {
            asked.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
    }
}

/// A pipe is not waited for, and no terminal becomes this process's.
fn calm(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
}

/// `cpu2` before `cpu10`.
fn numeric_order(name: &str) -> (String, u64, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0), name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu2", "online"] {
            fs::create_dir_all(directory.path().join("sys")).unwrap();
            fs::write(directory.path().join("sys").join(name), " 0-1\n").unwrap();
        }
        fs::write(directory.path().join(REFUSED), "/sys/online\n").unwrap();
        let root = Root::at(directory.path());
        (directory, root)
    }

    #[test]
    fn text_is_trimmed_and_reasons_are_typed() {
        let (_directory, root) = tree();
        assert_eq!(root.read("/sys/cpu2").unwrap(), "0-1");
        assert_eq!(root.read("/sys/none"), Err(Unreadable::Missing));
        assert_eq!(root.read("/sys/online"), Err(Unreadable::Permission));
        assert_eq!(root.writable("/sys/online"), Err(Unreadable::Permission));
        assert!(matches!(root.read("/sys"), Err(Unreadable::Other(_))));
    }

    #[test]
    fn a_file_that_is_too_long_is_unreadable() {
        let (directory, root) = tree();
        let long = File::create(directory.path().join("sys/long")).unwrap();
        long.set_len(60 << 30).unwrap();
        assert!(matches!(root.read("/sys/long"), Err(Unreadable::Other(_))));
    }

    /// Of a tree that a stranger has made.
    #[test]
    fn a_tree_leads_nowhere_else_and_keeps_nobody_waiting() {
        let (directory, _) = tree();
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mkfifoat(CWD, at("sys/pipe"), rustix::fs::Mode::RWXU).unwrap();
        fs::remove_file(at(REFUSED)).unwrap();
        for (link, to) in
            [(REFUSED, "/dev/zero"), ("sys/kernel", "/etc/hostname"), ("sys/out", "/etc"), ("sys/to", "cpu2")]
        {
            std::os::unix::fs::symlink(to, at(link)).unwrap();
        }
        let root = Root::at(directory.path());
        assert!(matches!(root.read("/sys/pipe"), Err(Unreadable::Other(_))));
        assert_eq!(root.read("/sys/online").as_deref(), Ok("0-1"));
        assert_eq!(root.read("/sys/to").as_deref(), Ok("0-1"), "a link within it");
        assert_eq!(root.read("/sys/kernel"), Err(Unreadable::Missing));
        assert!(!root.has("/sys/out") && root.list("/sys/out").is_empty());
        assert!(root.has("/sys/pipe") && root.writable("/sys/pipe").is_err());
        assert_eq!(root.target("/sys/out").as_deref(), Some("/etc"), "that is what it says");
    }

    #[test]
    fn names_are_in_numeric_order() {
        let (_directory, root) = tree();
        assert_eq!(root.list("/sys"), ["cpu2", "cpu10", "online"]);
        assert!(root.list("/none").is_empty());
    }

    #[test]
    fn what_was_asked_for_is_remembered() {
        let (_directory, root) = tree();
        let root = root.remembering();
        let _ = root.read("/sys/none");
        root.has("/sys/cpu2");
        assert_eq!(root.asked(), ["/sys/cpu2", "/sys/none"]);
    }
}
