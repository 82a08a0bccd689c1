//! What is needed for a while, and what killed programs have left of it.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::{Builder, NamedTempFile, TempDir};

/// What the names of temporary folders begin with.
const FOLDER: &str = "howlate-";
/// In each of them, locked as long as it is needed.
const MARK: &str = ".howlate-temporary";
/// What the names of files begin and end with that are to take another one's place.
const PARTIAL: (&str, &str) = (".howlate-", ".partial");
/// Added to names of what is not locked yet.
const NEW: &str = "new";

/// A folder that goes with this. One that a killed program left is [swept](sweep) at a later start.
#[derive(Debug)]
pub struct Temporary {
    folder: TempDir,
    _lock: File,
}

impl Temporary {
    /// One where temporary files are kept.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn folder() -> io::Result<Self> {
        Self::folder_in(&std::env::temp_dir())
    }

    /// One in a folder.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn folder_in(above: &Path) -> io::Result<Self> {
        let folder =
            Builder::new().prefix(FOLDER).permissions(Permissions::from_mode(0o700)).tempdir_in(above)?;
        let lock = locked(&folder.path().join(MARK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A file in `folder` that is to take another one's place, locked; it goes with what is returned, and is
/// [swept](sweep) as folders are.
///
/// # Errors
///
/// When it cannot be made.
pub fn partial_in(folder: &Path) -> io::Result<NamedTempFile> {
    Builder::new().prefix(PARTIAL.0).suffix(PARTIAL.1).make_in(folder, locked)
}

/// Makes a file that is locked from the moment it has its name.
fn locked(path: &Path) -> io::Result<File> {
    let unlocked = path.with_extension(NEW);
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&unlocked)?;
    let named = file.try_lock().map_err(io::Error::from).and_then(|()| fs::rename(&unlocked, path));
    match named {
        Ok(()) => Ok(file),
        Err(error) => {
            drop(fs::remove_file(&unlocked));
            Err(error)
        }
    }
}

/// Removes from `folder` what programs of ours made and left there because they were killed.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let path = entry.path();
        if name.starts_with(FOLDER) && left_behind(&path.join(MARK)) {
            drop(fs::remove_dir_all(&path));
        } else if name.starts_with(PARTIAL.0) && name.ends_with(PARTIAL.1) && left_behind(&path) {
            drop(fs::remove_file(&path));
        }
    }
}

/// Whether a file of ours is locked by nobody any more.
fn left_behind(mark: &Path) -> bool {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let Ok(file) = File::options().read(true).custom_flags(flags).open(mark) else { return false };
    let is_ours =
        |file: &File| file.metadata().is_ok_and(|found| found.is_file() && found.uid() == geteuid().as_raw());
    is_ours(&file) && file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_swept_and_what_is_in_use_or_another_thing_stays() {
        let above = tempfile::tempdir().unwrap();
        let at = |name: &str| above.path().join(name);
        let used = Temporary::folder_in(above.path()).unwrap();
        let partial = partial_in(above.path()).unwrap();
        // As a killed program leaves them: there, and locked by nobody.
        fs::create_dir(at("howlate-left")).unwrap();
        fs::write(at("howlate-left").join(MARK), "").unwrap();
        fs::write(at("howlate-left").join("more"), "").unwrap();
        fs::write(at(".howlate-left.partial"), "").unwrap();
        // Somebody else's, however they are called.
        fs::create_dir(at("howlate-results")).unwrap();
        fs::write(at("howlate-results").join("precious"), "").unwrap();
        fs::write(at(".tmpleft"), "").unwrap();
        std::os::unix::fs::symlink(at("howlate-results"), at("howlate-link")).unwrap();
        sweep(above.path());
        assert!(!at("howlate-left").exists() && !at(".howlate-left.partial").exists());
        for kept in [
            used.path(),
            partial.path(),
            &at("howlate-results/precious"),
            &at(".tmpleft"),
            &at("howlate-link"),
        ] {
            assert!(kept.exists(), "{}", kept.display());
        }
        let gone = used.path().to_owned();
        drop(used);
        assert!(!gone.exists());
    }
}
