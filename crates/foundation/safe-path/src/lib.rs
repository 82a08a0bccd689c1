//! Files and folders that no other user can have prepared.
//!
//! What is run or written as root must not come from another user: neither the path itself
//! nor a folder above it may be another user's, or writable by others. A folder with the
//! sticky bit, such as `/tmp`, may: others cannot replace what we own in it.
//!
//! Files of other users are opened so that they can do no harm: [`foreign`].
//!
//! Temporary files that a killed run leaves behind carry a mark, by which a later start
//! recognises and removes them.

pub mod atomic_write;
pub mod foreign;
mod private_folder;
mod temporary_folder;
mod unsafe_path;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use private_folder::PrivateFolder;
pub use temporary_folder::{TemporaryFolder, partial_in, sweep};
pub use unsafe_path::{UnsafePath, UnsafeReason};

use rustix::process::geteuid;

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Checks a file or folder and all folders above it; returns its path without symbolic links.
///
/// # Errors
///
/// When it or a folder above it does not exist, is another user's, or is writable by others.
pub fn check(path: &Path) -> Result<PathBuf, UnsafePath> {
    let real = path.canonicalize().map_err(|error| UnsafePath::unreadable(path, &error))?;
    for ancestor in real.ancestors().skip(1) {
        let metadata =
            ancestor.symlink_metadata().map_err(|error| UnsafePath::unreadable(ancestor, &error))?;
        let sticky = metadata.mode() & STICKY == STICKY;
        check_owner_and_mode(ancestor, &metadata, &[geteuid().as_raw(), 0], sticky)?;
    }
    let metadata = real.symlink_metadata().map_err(|error| UnsafePath::unreadable(&real, &error))?;
    check_owner_and_mode(&real, &metadata, &[geteuid().as_raw()], false)?;
    Ok(real)
}

/// The owner must be one of `owners`; others may have write permission only where `sticky`.
fn check_owner_and_mode(
    path: &Path,
    metadata: &Metadata,
    owners: &[u32],
    sticky: bool,
) -> Result<(), UnsafePath> {
    let refused = |reason| Err(UnsafePath { path: path.to_owned(), reason });
    if !owners.contains(&metadata.uid()) {
        return refused(UnsafeReason::Owner { uid: metadata.uid() });
    }
    match metadata.mode() & WRITABLE_BY_OTHERS {
        0 => Ok(()),
        _ if sticky => Ok(()),
        _ => refused(UnsafeReason::Writable { mode: metadata.mode() & 0o7777 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn paths_writable_by_others_are_refused_and_so_are_paths_below_them() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        assert_eq!(check(&inner), Ok(inner.canonicalize().unwrap()));
        for mode in [0o777, 0o775, 0o757] {
            set(&inner, mode);
            assert_eq!(check(&inner).unwrap_err().reason, UnsafeReason::Writable { mode });
            set(&inner, 0o755);
            set(folder.path(), mode);
            assert_eq!(check(&inner).unwrap_err().path, folder.path().canonicalize().unwrap());
            set(folder.path(), 0o700);
        }
        set(folder.path(), 0o1777);
        assert!(check(&inner).is_ok(), "the sticky bit protects our entries from others");
    }

    #[test]
    fn paths_of_another_user_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::write(&inner, "").unwrap();
        // Only root can give a file away.
        if chown(&inner, Some(65_534), None).is_ok() {
            assert_eq!(check(&inner).unwrap_err().reason, UnsafeReason::Owner { uid: 65_534 });
            chown(&inner, Some(0), None).unwrap();
            chown(folder.path(), Some(65_534), None).unwrap();
            assert_eq!(check(&inner).unwrap_err().reason, UnsafeReason::Owner { uid: 65_534 });
        }
        assert!(matches!(
            check(&folder.path().join("none")).unwrap_err().reason,
            UnsafeReason::Unreadable { .. }
        ));
    }

    #[test]
    fn a_link_is_checked_by_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let (open, link) = (folder.path().join("open"), folder.path().join("link"));
        fs::create_dir(&open).unwrap();
        set(&open, 0o777);
        symlink(&open, &link).unwrap();
        assert_eq!(check(&link).unwrap_err().path, open.canonicalize().unwrap());
    }
}
