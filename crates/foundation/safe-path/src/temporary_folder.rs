//! Temporary folders and files, and removal of those that killed runs left behind.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::{Builder, NamedTempFile, TempDir};

/// Name prefix of temporary folders.
const FOLDER_PREFIX: &str = "howlate-";
/// File in each temporary folder, locked while the folder is in use.
const LOCK_NAME: &str = ".howlate-temporary";
/// Prefix and suffix of files that will replace another file.
const PARTIAL: (&str, &str) = (".howlate-", ".partial");
/// Extension of files that are not locked yet.
const UNLOCKED_EXTENSION: &str = "new";

/// A folder that is removed on drop. A later start [sweeps](sweep) folders of killed runs.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _lock: File,
}

impl TemporaryFolder {
    /// Creates one in the system's folder for temporary files.
    ///
    /// # Errors
    ///
    /// When it cannot be created.
    pub fn create() -> io::Result<Self> {
        Self::create_in(&std::env::temp_dir())
    }

    /// Creates one in `parent`.
    ///
    /// # Errors
    ///
    /// When it cannot be created.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let folder = Builder::new()
            .prefix(FOLDER_PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let lock = create_locked(&folder.path().join(LOCK_NAME))?;
        Ok(Self { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A locked file in `folder` that will replace another one; it is removed on drop, and [swept](sweep) as
/// folders are.
///
/// # Errors
///
/// When it cannot be created.
pub fn partial_in(folder: &Path) -> io::Result<NamedTempFile> {
    Builder::new().prefix(PARTIAL.0).suffix(PARTIAL.1).make_in(folder, create_locked)
}

/// Creates a file that is locked before it gets its final name.
fn create_locked(path: &Path) -> io::Result<File> {
    let unlocked = path.with_extension(UNLOCKED_EXTENSION);
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&unlocked)?;
    let renamed = file.try_lock().map_err(io::Error::from).and_then(|()| fs::rename(&unlocked, path));
    match renamed {
        Ok(()) => Ok(file),
        Err(error) => {
            drop(fs::remove_file(&unlocked));
            Err(error)
        }
    }
}

/// Removes from `folder` what killed runs of this user left there.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let path = entry.path();
        if name.starts_with(FOLDER_PREFIX) && is_stale(&path.join(LOCK_NAME)) {
            drop(fs::remove_dir_all(&path));
        } else if name.starts_with(PARTIAL.0) && name.ends_with(PARTIAL.1) && is_stale(&path) {
            drop(fs::remove_file(&path));
        }
    }
}

/// Whether a lock file of this user is no longer locked.
fn is_stale(lock: &Path) -> bool {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let Ok(file) = File::options().read(true).custom_flags(flags).open(lock) else { return false };
    let is_ours = |file: &File| {
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.uid() == geteuid().as_raw())
    };
    is_ours(&file) && file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_files_are_swept_and_files_in_use_or_of_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let used = TemporaryFolder::create_in(parent.path()).unwrap();
        let partial = partial_in(parent.path()).unwrap();
        // As a killed run leaves them: unlocked.
        fs::create_dir(at("howlate-left")).unwrap();
        fs::write(at("howlate-left").join(LOCK_NAME), "").unwrap();
        fs::write(at("howlate-left").join("more"), "").unwrap();
        fs::write(at(".howlate-left.partial"), "").unwrap();
        // Not of this program, despite similar names.
        fs::create_dir(at("howlate-results")).unwrap();
        fs::write(at("howlate-results").join("precious"), "").unwrap();
        fs::write(at(".tmpleft"), "").unwrap();
        std::os::unix::fs::symlink(at("howlate-results"), at("howlate-link")).unwrap();
        sweep(parent.path());
        assert!(!at("howlate-left").exists() && !at(".howlate-left.partial").exists());
        for path in [
            used.path(),
            partial.path(),
            &at("howlate-results/precious"),
            &at(".tmpleft"),
            &at("howlate-link"),
        ] {
            assert!(path.exists(), "{}", path.display());
        }
        let removed = used.path().to_owned();
        drop(used);
        assert!(!removed.exists());
    }
}
