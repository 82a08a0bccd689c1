//! Opens files that another user may have prepared: opening never blocks, never starts a device, and stays within a folder.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};

/// Opening a pipe does not block, and a terminal does not become the controlling terminal.
const NONBLOCKING: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a regular file for reading; links are followed.
///
/// # Errors
///
/// `InvalidInput` when it is a pipe, a device, a socket or a folder.
pub fn open_file(path: &Path) -> io::Result<File> {
    open_regular(|flags| openat(CWD, path, flags, Mode::empty()))
}

/// Like [`open_file`], but the file itself must not be a link.
///
/// # Errors
///
/// As [`open_file`], and `FilesystemLoop` when it is a link.
pub fn open_file_nofollow(path: &Path) -> io::Result<File> {
    open_regular(|flags| openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty()))
}

/// Opens a folder as a [`ConfinedFolder`].
///
/// # Errors
///
/// When it is not a folder.
pub fn open_folder(path: &Path) -> io::Result<ConfinedFolder> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(ConfinedFolder { top: openat(CWD, path, flags, Mode::empty())? })
}

/// A folder in which paths are resolved as if it were `/`: no link and no `..` leads out of it.
#[derive(Debug)]
pub struct ConfinedFolder {
    top: OwnedFd,
}

impl ConfinedFolder {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    ///
    /// As [`open_file`]; `Unsupported` before Linux 5.6, which lacks `openat2(2)`.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        open_regular(|flags| self.open(path, flags))
    }

    /// Opens a folder below as a new root.
    ///
    /// # Errors
    ///
    /// As [`Self::open_file`].
    pub fn open_folder(&self, path: &Path) -> io::Result<Self> {
        Ok(Self { top: self.open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)? })
    }

    /// `O_PATH` descriptor, for [`fstat`].
    ///
    /// # Errors
    ///
    /// As [`Self::open_file`].
    pub fn open_path(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::PATH | OFlags::CLOEXEC)?)
    }

    /// `O_PATH` descriptor of a link itself.
    ///
    /// # Errors
    ///
    /// As [`Self::open_file`].
    pub fn open_link(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?)
    }

    /// Opens a folder for reading its entries.
    ///
    /// # Errors
    ///
    /// As [`Self::open_file`].
    pub fn open_directory(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?)
    }

    /// Opens a regular file for writing.
    ///
    /// # Errors
    ///
    /// As [`Self::open_file`].
    pub fn open_for_writing(&self, path: &Path) -> io::Result<File> {
        let opened = self.open_path(path)?;
        must_be_regular(&opened)?;
        Ok(File::from(self.open(path, OFlags::WRONLY | NONBLOCKING)?))
    }

    /// `openat2(2)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
    fn open(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        // `EAGAIN`: a folder changed during the resolution; try again.
        let how = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        rustix::io::retry_on_intr(|| match openat2(&self.top, path, flags, Mode::empty(), how) {
            Err(rustix::io::Errno::AGAIN) => Err(rustix::io::Errno::INTR),
            result => result,
        })
    }
}

/// Checks the type before opening for reading: merely opening a device may have side effects.
fn open_regular(open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>) -> io::Result<File> {
    must_be_regular(&open(OFlags::PATH | OFlags::CLOEXEC)?)?;
    let opened = open(OFlags::RDONLY | NONBLOCKING)?;
    must_be_regular(&opened)?;
    Ok(File::from(opened))
}

fn must_be_regular(file: impl AsFd) -> io::Result<()> {
    match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(io::Error::from(rustix::io::Errno::LOOP)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use rustix::fs::mkfifoat;

    use super::*;

    fn read(opened: io::Result<File>) -> io::Result<String> {
        let mut text = String::new();
        opened?.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn only_regular_files_are_opened_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read(open_file(&at("file"))).unwrap(), "text");
        assert_eq!(read(open_file(&at("link"))).unwrap(), "text");
        assert_eq!(read(open_file_nofollow(&at("file"))).unwrap(), "text");
        assert!(open_file_nofollow(&at("link")).is_err());
        for odd in [at("pipe"), at("socket"), at(""), "/dev/zero".into()] {
            for refused in [open_file(&odd), open_file_nofollow(&odd)] {
                assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{odd:?}");
            }
        }
    }

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        std::fs::create_dir_all(at("tree/etc")).unwrap();
        std::fs::write(at("secret"), "outside").unwrap();
        std::fs::write(at("tree/etc/file"), "inside").unwrap();
        for (link, to) in
            [("up", "../../secret"), ("out", at("secret").to_str().unwrap()), ("in", "/etc/file")]
        {
            symlink(to, at("tree/etc").join(link)).unwrap();
        }
        symlink("/proc/self/fd/0", at("tree/magic")).unwrap();
        let confined = open_folder(&at("tree")).unwrap();
        let read = |path: &str| read(confined.open_file(Path::new(path))).ok();
        assert_eq!(read("/etc/file").as_deref(), Some("inside"));
        assert_eq!(read("etc/in").as_deref(), Some("inside"), "absolute links start at the folder");
        assert_eq!(read("../tree/etc/file"), None);
        assert_eq!([read("../secret"), read("etc/up"), read("etc/out"), read("magic")], [const { None }; 4]);
        assert!(
            confined.open_path(Path::new("/etc")).is_ok()
                && confined.open_directory(Path::new("/etc")).is_ok()
        );
        assert!(confined.open_for_writing(Path::new("/etc/file")).is_ok());
        assert!(confined.open_for_writing(Path::new("/etc")).is_err());
    }
}
