//! The directory below which the kernel's files are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::read::GzDecoder;
use rustix::fs::OFlags;

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

/// A tree may hold anything: a pipe to which nobody writes is empty rather than waited for, and no terminal becomes this process's.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// The bytes as text. Nearly all are text as they are, which is found out much faster than what is not.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Where the kernel's files are: `/` live, or a directory that holds a captured tree.
#[derive(Debug)]
pub struct Root {
    directory: PathBuf,
    refused: BTreeSet<String>,
    /// Paths asked for, where somebody wants to know.
    asked: Option<Mutex<BTreeSet<String>>>,
    /// What was unpacked, which takes longer than reading all the rest and is asked for again.
    unpacked: Mutex<BTreeMap<String, Result<String, Unreadable>>>,
}

impl Root {
    /// The files of this machine: those below `/`.
    pub fn live() -> Self {
        Self {
            directory: PathBuf::from("/"),
            refused: BTreeSet::new(),
            asked: None,
            unpacked: Mutex::default(),
        }
    }

    /// A tree of files as one machine had them.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let listed = open(&directory.join(REFUSED)).and_then(bounded).map(text).unwrap_or_default();
        let refused = listed.lines().map(str::trim).filter(|path| !path.is_empty());
        let refused = refused.map(str::to_owned).collect();
        Self { refused, directory, asked: None, unpacked: Mutex::default() }
    }

    /// The same, remembering every path asked for, so that a capture copies exactly what was read.
    #[must_use]
    pub fn remembering(self) -> Self {
        Self { asked: Some(Mutex::default()), ..self }
    }

    /// The trimmed content of a text file; `path` is absolute, as on the examined system.
    pub fn read(&self, path: &str) -> Result<String, Unreadable> {
        let bytes = bounded(open(&self.admit(path)?)?)?;
        Ok(text(bytes).trim_matches(['\0', ' ', '\t', '\n']).to_owned())
    }

    /// The trimmed content of a text file compressed with gzip, which does not change while the kernel runs.
    pub fn read_compressed(&self, path: &str) -> Result<String, Unreadable> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        unpacked.entry(path.to_owned()).or_insert_with(|| self.unpack(path)).clone()
    }

    fn unpack(&self, path: &str) -> Result<String, Unreadable> {
        let bytes = bounded(GzDecoder::new(open(&self.admit(path)?)?))?;
        Ok(text(bytes).trim().to_owned())
    }

    /// The first bytes of a file, so many at most, whatever they are.
    pub fn beginning(&self, path: &str, most: u64) -> Result<Vec<u8>, Unreadable> {
        let mut bytes = Vec::new();
        open(&self.admit(path)?)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A file that is read again and again.
    pub(crate) fn open(&self, path: &str) -> Result<File, Unreadable> {
        Ok(open(&self.admit(path)?)?)
    }

    /// A file that is mapped into a process, as that process sees its path.
    ///
    /// # Errors
    ///
    /// When it is not there, or not ours to read.
    pub fn mapped_file(&self, process: u32, path: &str) -> Result<File, Unreadable> {
        self.open(&format!("/proc/{process}/root{path}"))
    }

    /// The names in a directory, numbers in numeric order; empty where there is none.
    ///
    /// The directory itself is not remembered: what is read in it will be.
    pub fn list(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.place(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_cached_key(|name| numeric_order(name));
        names
    }

    /// Where a link leads, as the kernel writes it: `/proc/PID/exe`. `None` where there is none, or none that this process may read.
    pub fn target(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.admit(path).ok()?).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Whether there is a file or directory of this name.
    pub fn has(&self, path: &str) -> bool {
        self.remember(path);
        self.place(path).exists()
    }

    /// Whether the kernel's files on processes are there, as they are not after `chroot` into a bare tree.
    pub fn has_processes(&self) -> bool {
        self.has("/proc/self") || self.list("/proc").iter().any(|name| name.parse::<u32>().is_ok())
    }

    /// Whether this process may open a file for writing. Nothing is written.
    pub fn writable(&self, path: &str) -> Result<(), Unreadable> {
        OpenOptions::new().write(true).open(self.admit(path)?)?;
        Ok(())
    }

    /// Whether the kernel lets anybody write to a file: a setting that cannot be changed has no right to write, not even for its owner.
    pub fn is_settable(&self, path: &str) -> bool {
        self.remember(path);
        fs::metadata(self.place(path)).is_ok_and(|file| file.permissions().mode() & 0o200 != 0)
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

    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.directory.join(Path::new(path.trim_start_matches('/')))
    }

    fn admit(&self, path: &str) -> Result<PathBuf, Unreadable> {
        self.remember(path);
        if self.refused.contains(path) { Err(Unreadable::Permission) } else { Ok(self.place(path)) }
    }

    fn remember(&self, path: &str) {
        if let Some(asked) = &self.asked {
            asked.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
    }
}

/// `cpu2` before `cpu10`.
fn numeric_order(name: &str) -> (String, u64, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0), name.to_owned())
}

#[cfg(test)]
mod tests {
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
    fn a_file_without_end_is_unreadable() {
        let (directory, root) = tree();
        std::os::unix::fs::symlink("/dev/zero", directory.path().join("sys/endless")).unwrap();
        assert!(matches!(root.read("/sys/endless"), Err(Unreadable::Other(_))));
    }

    #[test]
    fn a_pipe_is_not_waited_for_and_a_list_without_end_refuses_nothing() {
        let (directory, _) = tree();
        let pipe = directory.path().join("sys/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        fs::remove_file(directory.path().join(REFUSED)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", directory.path().join(REFUSED)).unwrap();
        let root = Root::at(directory.path());
        assert_eq!(root.read("/sys/pipe"), Ok(String::new()));
        assert_eq!(root.read("/sys/online").as_deref(), Ok("0-1"));
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
