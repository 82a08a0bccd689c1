//! Files that a stranger may have put there: whatever they are, opening them waits for nobody, starts no device, and leads nowhere
//! else.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};

/// What every file is opened with: a pipe is not waited for, and no terminal becomes this process's.
const CALM: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a file for reading, wherever links lead.
///
/// # Errors
///
/// `InvalidInput` when it is no file but a pipe, a device, a socket or a folder; those of the kernel.
pub fn regular(path: &Path) -> io::Result<File> {
    open_regular(|flags| openat(CWD, path, flags, Mode::empty()))
}

/// The same where the file itself may be no link: in a folder whose files all are its own.
///
/// # Errors
///
/// As [`regular`], and `FilesystemLoop` when it is a link.
pub fn regular_itself(path: &Path) -> io::Result<File> {
    open_regular(|flags| openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty()))
}

/// A folder to look [within](Within).
///
/// # Errors
///
/// When it is none.
pub fn folder(path: &Path) -> io::Result<Within> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Within { top: openat(CWD, path, flags, Mode::empty())? })
}

/// Paths below a folder, as if that were `/`: no link and no `..` leads out of it.
#[derive(Debug)]
pub struct Within {
    top: OwnedFd,
}

impl Within {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// As [`regular`]; `Unsupported` before Linux 5.6, which cannot keep links from leading out.
    pub fn regular(&self, path: &Path) -> io::Result<File> {
        open_regular(|flags| self.open(path, flags))
    }

    /// Paths below a folder in it, as if that one were `/`.
    ///
    /// # Errors
    ///
    /// As [`Self::regular`].
    pub fn folder(&self, path: &Path) -> io::Result<Self> {
        Ok(Self { top: self.open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)? })
    }

    /// What is there, without opening it: for [`fstat`].
    ///
    /// # Errors
    ///
    /// As [`Self::regular`].
    pub fn place(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::PATH | OFlags::CLOEXEC)?)
    }

    /// The same of a link itself.
    ///
    /// # Errors
    ///
    /// As [`Self::regular`].
    pub fn link(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?)
    }

    /// A folder whose names are read.
    ///
    /// # Errors
    ///
    /// As [`Self::regular`].
    pub fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(self.open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?)
    }

    /// Opens with these flags what must be a file.
    ///
    /// # Errors
    ///
    /// As [`Self::regular`].
    pub fn for_writing(&self, path: &Path) -> io::Result<File> {
        let opened = self.place(path)?;
        must_be_regular(&opened)?;
        Ok(File::from(self.open(path, OFlags::WRONLY | CALM)?))
    }

    /// `openat2(2)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
    fn open(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        // A folder that changes meanwhile is looked at again.
        let how = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        rustix::io::retry_on_intr(|| match openat2(&self.top, path, flags, Mode::empty(), how) {
            Err(rustix::io::Errno::AGAIN) => Err(rustix::io::Errno::INTR),
            other => other,
        })
    }
}

/// Looks what it is before it is opened for reading: opening a device alone may start something.
fn open_regular(open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>) -> io::Result<File> {
    must_be_regular(&open(OFlags::PATH | OFlags::CLOEXEC)?)?;
    let opened = open(OFlags::RDONLY | CALM)?;
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
    fn only_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read(regular(&at("file"))).unwrap(), "text");
        assert_eq!(read(regular(&at("link"))).unwrap(), "text");
        assert_eq!(read(regular_itself(&at("file"))).unwrap(), "text");
        assert!(regular_itself(&at("link")).is_err());
        for odd in [at("pipe"), at("socket"), at(""), "/dev/zero".into()] {
            for refused in [regular(&odd), regular_itself(&odd)] {
                assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput, "{odd:?}");
            }
        }
    }

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let above = tempfile::tempdir().unwrap();
        let at = |name: &str| above.path().join(name);
        std::fs::create_dir_all(at("tree/etc")).unwrap();
        std::fs::write(at("secret"), "outside").unwrap();
        std::fs::write(at("tree/etc/file"), "inside").unwrap();
        for (link, to) in
            [("up", "../../secret"), ("out", at("secret").to_str().unwrap()), ("in", "/etc/file")]
        {
            symlink(to, at("tree/etc").join(link)).unwrap();
        }
        symlink("/proc/self/fd/0", at("tree/magic")).unwrap();
        let within = folder(&at("tree")).unwrap();
        let read = |path: &str| read(within.regular(Path::new(path))).ok();
        assert_eq!(read("/etc/file").as_deref(), Some("inside"));
        assert_eq!(read("etc/in").as_deref(), Some("inside"), "as on the machine that it is of");
        assert_eq!(read("../tree/etc/file"), None);
        assert_eq!([read("../secret"), read("etc/up"), read("etc/out"), read("magic")], [const { None }; 4]);
        assert!(within.place(Path::new("/etc")).is_ok() && within.directory(Path::new("/etc")).is_ok());
        assert!(within.for_writing(Path::new("/etc/file")).is_ok());
        assert!(within.for_writing(Path::new("/etc")).is_err());
    }
}
