//! The directory below which the kernel's files are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use flate2::read::GzDecoder;
use howlate_safe_path::foreign::{self, ConfinedFolder};
use rustix::fs::{CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, readlinkat};

use crate::{Reading, Unreadable};

/// File at the top of a captured tree that lists, one per line, the paths which the machine
/// refused to open, as ordinary files cannot represent that.
pub const REFUSED: &str = "REFUSED";

/// Maximum file size in bytes. Kernel files are far smaller, but a captured tree may contain anything, even an
/// endless device.
const MAX_BYTES: u64 = 16 << 20;

/// Reads to the end; fails beyond [`MAX_BYTES`].
fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Lossy conversion; valid UTF-8, the usual case, is checked first because that is much faster.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The directory below which kernel files are read: `/` live, or a captured tree.
#[derive(Debug)]
pub struct Root {
    top: RootKind,
    refused: BTreeSet<String>,
    /// Requested paths, if [logged](Root::with_path_log).
    path_log: Option<Mutex<BTreeSet<String>>>,
    /// Cache of unpacked files, as unpacking takes longer than reading everything else.
    unpacked: Mutex<BTreeMap<String, Result<String, Unreadable>>>,
}

#[derive(Debug)]
enum RootKind {
    Live,
    /// An untrusted directory; `None` if it does not exist.
    Tree(Option<ConfinedFolder>),
}

impl Root {
    /// The files of this machine.
    pub fn live() -> Self {
        Self::of(RootKind::Live, BTreeSet::new())
    }

    /// A captured tree. Whatever it contains, no link leads out of it, and no read blocks.
    pub fn at(directory: impl AsRef<Path>) -> Self {
        let tree = foreign::open_folder(directory.as_ref()).ok();
        let list =
            tree.as_ref().map(|tree| tree.open_file(Path::new(REFUSED)).and_then(read_bounded).map(text));
        let list = list.and_then(Result::ok).unwrap_or_default();
        let refused = list.lines().map(str::trim).filter(|path| !path.is_empty());
        Self::of(RootKind::Tree(tree), refused.map(str::to_owned).collect())
    }

    fn of(top: RootKind, refused: BTreeSet<String>) -> Self {
        Self { top, refused, path_log: None, unpacked: Mutex::default() }
    }

    /// Logs every requested path, so that a capture copies exactly the files that were read.
    #[must_use]
    pub fn with_path_log(self) -> Self {
        Self { path_log: Some(Mutex::default()), ..self }
    }

    /// The trimmed content of a text file; `path` is absolute, as on the examined system.
    pub fn read(&self, path: &str) -> Result<String, Unreadable> {
        let bytes = self.open(path).and_then(|file| Ok(read_bounded(file)?));
        match &bytes {
            Ok(bytes) => log::trace!("{path}: {} bytes", bytes.len()),
            // Most files that are looked for belong to other machines.
            Err(error @ Unreadable::Missing) => log::trace!("{path}: {error}"),
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
        let bytes = read_bounded(GzDecoder::new(self.open(path)?))?;
        Ok(text(bytes).trim().to_owned())
    }

    /// The first bytes of a file, at most `limit`.
    pub fn read_prefix(&self, path: &str, limit: u64) -> Result<Vec<u8>, Unreadable> {
        let mut bytes = Vec::new();
        self.open(path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file that is read repeatedly.
    pub(crate) fn open(&self, path: &str) -> Result<File, Unreadable> {
        self.check_access(path)?;
        Ok(match &self.top {
            RootKind::Live => nonblocking(OpenOptions::new().read(true)).open(path)?,
            RootKind::Tree(_) => self.tree()?.open_file(Path::new(path))?,
        })
    }

    fn tree(&self) -> io::Result<&ConfinedFolder> {
        match &self.top {
            RootKind::Tree(Some(tree)) => Ok(tree),
            RootKind::Live | RootKind::Tree(None) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Opens a regular file below the root directory of a process, which may belong to another user.
    ///
    /// # Errors
    ///
    /// When it does not exist, is not a regular file, or may not be read.
    pub fn open_in_process_root(&self, process: u32, path: &str) -> Result<File, Unreadable> {
        let process_root = format!("/proc/{process}/root");
        self.check_access(&format!("{process_root}{path}"))?;
        Ok(match &self.top {
            RootKind::Live => foreign::open_folder(Path::new(&process_root))?,
            RootKind::Tree(_) => self.tree()?.open_folder(Path::new(&process_root))?,
        }
        .open_file(Path::new(path))?)
    }

    /// The names in a directory, numbers in numeric order; empty where there is none.
    ///
    /// The directory itself is not logged; files that are read in it are.
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
            RootKind::Live => rustix::fs::open(path, flags, Mode::empty())?,
            RootKind::Tree(_) => self.tree()?.open_directory(Path::new(path))?,
        };
        Ok(Dir::new(opened)?.flatten().collect())
    }

    /// Subdirectories with their inode numbers, in no order.
    pub(crate) fn directories(&self, path: &str) -> Vec<(String, u64)> {
        let entries = self.entries(path).unwrap_or_default().into_iter();
        let directories = entries.filter(|entry| entry.file_type() == FileType::Directory);
        let names = directories.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.ino()));
        names.filter(|(name, _)| !matches!(name.as_str(), "." | "..")).collect()
    }

    pub(crate) fn inode_number(&self, path: &str) -> Option<u64> {
        self.stat(path).ok().map(|stat| stat.st_ino)
    }

    /// Target of a symbolic link such as `/proc/PID/exe`; `None` if it does not exist or may not be read.
    pub fn target(&self, path: &str) -> Option<String> {
        self.check_access(path).ok()?;
        let target = match &self.top {
            RootKind::Live => readlinkat(CWD, path, Vec::new()),
            RootKind::Tree(_) => {
                readlinkat(self.tree().ok()?.open_link(Path::new(path)).ok()?, "", Vec::new())
            }
        };
        Some(target.ok()?.to_string_lossy().into_owned())
    }

    pub fn has(&self, path: &str) -> bool {
        self.log_path(path);
        self.stat(path).is_ok()
    }

    fn stat(&self, path: &str) -> io::Result<Stat> {
        Ok(match &self.top {
            RootKind::Live => rustix::fs::stat(path)?,
            RootKind::Tree(_) => fstat(self.tree()?.open_path(Path::new(path))?)?,
        })
    }

    /// Whether `/proc` is mounted; it is not after `chroot` into a bare tree.
    pub fn has_processes(&self) -> bool {
        self.has("/proc/self") || self.list("/proc").iter().any(|name| name.parse::<u32>().is_ok())
    }

    /// Fails unless this process may open the file for writing. Nothing is written.
    pub fn writable(&self, path: &str) -> Result<(), Unreadable> {
        self.check_access(path)?;
        match &self.top {
            RootKind::Live => nonblocking(OpenOptions::new().write(true)).open(path).map(drop)?,
            RootKind::Tree(_) => self.tree()?.open_for_writing(Path::new(path)).map(drop)?,
        }
        Ok(())
    }

    /// Whether the file has write permission for its owner, which read-only settings lack.
    pub fn is_settable(&self, path: &str) -> bool {
        self.log_path(path);
        self.stat(path).is_ok_and(|stat| stat.st_mode & 0o200 != 0)
    }

    /// All requested paths in order; empty without [`with_path_log`](Self::with_path_log).
    pub fn logged_paths(&self) -> Vec<String> {
        let log = self.path_log.iter();
        log.flat_map(|paths| paths.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }

    /// Reads a file; the result includes its path.
    pub fn reading(&self, path: impl Into<String>) -> Reading {
        let path = path.into();
        Reading { content: self.read(&path), path }
    }

    fn check_access(&self, path: &str) -> Result<(), Unreadable> {
        self.log_path(path);
        if self.refused.contains(path) { Err(Unreadable::Permission) } else { Ok(()) }
    }

    fn log_path(&self, path: &str) {
        if let Some(paths) = &self.path_log {
            paths.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
    }
}

/// Opening a pipe does not block, and a terminal does not become the controlling terminal.
fn nonblocking(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
}

/// Sort key that places `cpu2` before `cpu10`.
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

    /// The tree is untrusted.
    #[test]
    fn links_do_not_leave_the_tree_and_no_read_blocks() {
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
        assert_eq!(root.target("/sys/out").as_deref(), Some("/etc"), "the target as written");
    }

    #[test]
    fn names_are_in_numeric_order() {
        let (_directory, root) = tree();
        assert_eq!(root.list("/sys"), ["cpu2", "cpu10", "online"]);
        assert!(root.list("/none").is_empty());
    }

    #[test]
    fn requested_paths_are_logged() {
        let (_directory, root) = tree();
        let root = root.with_path_log();
        let _ = root.read("/sys/none");
        root.has("/sys/cpu2");
        assert_eq!(root.logged_paths(), ["/sys/cpu2", "/sys/none"]);
    }
}
