//! A folder that only this user can write.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};

use crate::{UnsafePath, UnsafeReason, check};

/// Access for the owner only.
const OWNER_ONLY: u32 = 0o700;

/// A folder that only this user can write, kept open so that it cannot be replaced.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    opened: OwnedFd,
}

impl PrivateFolder {
    /// Creates the folder and missing parents, and checks them all.
    ///
    /// # Errors
    ///
    /// When it cannot be created, or when it or a folder above it is another user's or writable by others.
    pub fn create(path: &Path) -> Result<Self, UnsafePath> {
        let created = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(path);
        created.map_err(|error| UnsafePath::unreadable(path, &error))?;
        Self::open(path)
    }

    /// Opens and checks an existing folder.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), and when it does not exist.
    pub fn open(path: &Path) -> Result<Self, UnsafePath> {
        let real = check(path)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let failed = |error: rustix::io::Errno| match error {
            rustix::io::Errno::NOTDIR => {
                UnsafePath { path: real.clone(), reason: UnsafeReason::Kind { expected: "folder" } }
            }
            error => UnsafePath::unreadable(&real, &error.into()),
        };
        let opened = open(&real, flags, Mode::empty()).map_err(failed)?;
        Ok(Self { path: real, opened })
    }

    /// Fails unless other users have no access at all.
    ///
    /// # Errors
    ///
    /// When its mode is not 0700.
    pub fn require_mode_0700(self) -> Result<Self, UnsafePath> {
        let metadata =
            self.path.symlink_metadata().map_err(|error| UnsafePath::unreadable(&self.path, &error))?;
        match metadata.mode() & 0o7777 {
            OWNER_ONLY => Ok(self),
            mode => Err(UnsafePath { path: self.path, reason: UnsafeReason::Open { mode } }),
        }
    }

    /// Path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file in it for reading and appending, created if missing. No link is followed,
    /// and opening a pipe does not block.
    ///
    /// # Errors
    ///
    /// When it is not a regular file of this user.
    pub fn file(&self, name: &str) -> Result<File, UnsafePath> {
        let path = self.path.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat(&self.opened, name, flags | OFlags::APPEND, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.map_err(|error| UnsafePath::unreadable(&path, &error.into()))?);
        let metadata = file.metadata().map_err(|error: io::Error| UnsafePath::unreadable(&path, &error))?;
        if !metadata.is_file() {
            return Err(UnsafePath { path, reason: UnsafeReason::Kind { expected: "file" } });
        }
        crate::check_owner_and_mode(&path, &metadata, &[rustix::process::geteuid().as_raw()], false)?;
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
    fn a_folder_is_created_for_its_owner_only() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let folder = PrivateFolder::create(&path).unwrap().require_mode_0700().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(folder.require_mode_0700().unwrap_err().reason, UnsafeReason::Open { mode: 0o755 });
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(PrivateFolder::create(&file).is_err());
        assert_eq!(PrivateFolder::open(&file).unwrap_err().reason, UnsafeReason::Kind { expected: "folder" });
    }

    #[test]
    fn a_file_keeps_its_content_and_nothing_else_is_opened() {
        let parent = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create(&parent.path().join("own")).unwrap();
        folder.file("lock").unwrap().write_all(b"kept").unwrap();
        let mut content = String::new();
        folder.file("lock").unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "kept");

        let target = parent.path().join("target");
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
