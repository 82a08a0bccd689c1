//! A folder of our own.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};

use crate::{NotPrivate, Why, check};

/// Readable and writable by the owner alone.
const OWN: u32 = 0o700;

/// A folder that only this user can write, held open so that nothing can be put in its place.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    opened: OwnedFd,
}

impl Folder {
    /// Makes the folder, and those above it that are missing, and checks them all.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or when it or one above it is another user's or writable by others.
    pub fn make(path: &Path) -> Result<Self, NotPrivate> {
        let made = DirBuilder::new().recursive(true).mode(OWN).create(path);
        made.map_err(|error| NotPrivate::unreadable(path, &error))?;
        Self::open(path)
    }

    /// The same for one that is there.
    ///
    /// # Errors
    ///
    /// As [`make`](Self::make), and when it is not there.
    pub fn open(path: &Path) -> Result<Self, NotPrivate> {
        let real = check(path)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let failed = |error: rustix::io::Errno| match error {
            rustix::io::Errno::NOTDIR => {
                NotPrivate { path: real.clone(), why: Why::Kind { wanted: "folder" } }
            }
            error => NotPrivate::unreadable(&real, &error.into()),
        };
        let opened = open(&real, flags, Mode::empty()).map_err(failed)?;
        Ok(Self { path: real, opened })
    }

    /// The same, if nobody else may even look into it.
    ///
    /// # Errors
    ///
    /// When its mode is not 0700.
    pub fn closed_to_others(self) -> Result<Self, NotPrivate> {
        let found =
            self.path.symlink_metadata().map_err(|error| NotPrivate::unreadable(&self.path, &error))?;
        match found.mode() & 0o7777 {
            OWN => Ok(self),
            mode => Err(NotPrivate { path: self.path, why: Why::Open { mode } }),
        }
    }

    /// Where it is, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of it for reading and writing, made if it is not there. No link is followed,
    /// nothing is cut off, and no pipe is waited for.
    ///
    /// # Errors
    ///
    /// When the name is of something else than a file of ours.
    pub fn file(&self, name: &str) -> Result<File, NotPrivate> {
        let path = self.path.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(&self.opened, name, flags | OFlags::APPEND, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.map_err(|error| NotPrivate::unreadable(&path, &error.into()))?);
        let found = file.metadata().map_err(|error: io::Error| NotPrivate::unreadable(&path, &error))?;
        if !found.is_file() {
            return Err(NotPrivate { path, why: Why::Kind { wanted: "file" } });
        }
        crate::judge(&path, &found, &[rustix::process::geteuid().as_raw()], false)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_is_made_for_its_owner_alone() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("a/b");
        let folder = Folder::make(&path).unwrap().closed_to_others().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(folder.closed_to_others().unwrap_err().why, Why::Open { mode: 0o755 });
        let file = above.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Folder::make(&file).is_err());
        assert_eq!(Folder::open(&file).unwrap_err().why, Why::Kind { wanted: "folder" });
    }

    #[test]
    fn a_file_is_kept_as_it_is_and_nothing_else_is_opened() {
        let above = tempfile::tempdir().unwrap();
        let folder = Folder::make(&above.path().join("own")).unwrap();
        folder.file("lock").unwrap().write_all(b"kept").unwrap();
        let mut kept = String::new();
        folder.file("lock").unwrap().read_to_string(&mut kept).unwrap();
        assert_eq!(kept, "kept");

        let target = above.path().join("target");
        fs::write(&target, "precious").unwrap();
        symlink(&target, folder.path().join("link")).unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        for name in ["link", "folder", "pipe"] {
            assert!(folder.file(name).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(target).unwrap(), "precious");
    }
}
