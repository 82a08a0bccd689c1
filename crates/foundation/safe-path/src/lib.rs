//! Folders and files that nobody but this user can have prepared.
//!
//! What is run or written as root must not have been put there by somebody else: neither the
//! thing itself nor a folder above it may be another user's, or writable by others. A folder with
//! the sticky bit, such as `/tmp`, may: what we own in it is out of their reach.
//!
//! What others may have put there is opened so that it can do no harm: [`foreign`].
//!
//! And the other way round: what this program leaves in shared places when it is killed carries its
//! mark, so that a later start can remove it and nothing else.

pub mod atomic_write;
mod folder;
pub mod foreign;
mod refused;
mod temporary;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use folder::Folder;
pub use refused::{NotPrivate, Why};
pub use temporary::{Temporary, partial_in, sweep};

use rustix::process::geteuid;

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Checks a file or folder and all folders above it; returns its path without symbolic links.
///
/// # Errors
///
/// When it, or one above it, is not there, is another user's, or may be written by others.
pub fn check(path: &Path) -> Result<PathBuf, NotPrivate> {
    let real = path.canonicalize().map_err(|error| NotPrivate::unreadable(path, &error))?;
    for above in real.ancestors().skip(1) {
        let found = above.symlink_metadata().map_err(|error| NotPrivate::unreadable(above, &error))?;
        let shared = found.mode() & STICKY == STICKY;
        judge(above, &found, &[geteuid().as_raw(), 0], shared)?;
    }
    let found = real.symlink_metadata().map_err(|error| NotPrivate::unreadable(&real, &error))?;
    judge(&real, &found, &[geteuid().as_raw()], false)?;
    Ok(real)
}

/// Whether it is one of the `owners`', and only theirs to write, or `shared` safely.
fn judge(path: &Path, found: &Metadata, owners: &[u32], shared: bool) -> Result<(), NotPrivate> {
    let refused = |why| Err(NotPrivate { path: path.to_owned(), why });
    if !owners.contains(&found.uid()) {
        return refused(Why::Owner { uid: found.uid() });
    }
    match found.mode() & WRITABLE_BY_OTHERS {
        0 => Ok(()),
        _ if shared => Ok(()),
        _ => refused(Why::Writable { mode: found.mode() & 0o7777 }),
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
    fn what_others_may_write_is_refused_and_so_is_what_lies_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        assert_eq!(check(&inner), Ok(inner.canonicalize().unwrap()));
        for mode in [0o777, 0o775, 0o757] {
            set(&inner, mode);
            assert_eq!(check(&inner).unwrap_err().why, Why::Writable { mode });
            set(&inner, 0o755);
            set(folder.path(), mode);
            assert_eq!(check(&inner).unwrap_err().path, folder.path().canonicalize().unwrap());
            set(folder.path(), 0o700);
        }
        set(folder.path(), 0o1777);
        assert!(check(&inner).is_ok(), "the sticky bit keeps what is ours from others");
    }

    #[test]
    fn what_another_user_owns_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::write(&inner, "").unwrap();
        // Only root can give a file away.
        if chown(&inner, Some(65_534), None).is_ok() {
            assert_eq!(check(&inner).unwrap_err().why, Why::Owner { uid: 65_534 });
            chown(&inner, Some(0), None).unwrap();
            chown(folder.path(), Some(65_534), None).unwrap();
            assert_eq!(check(&inner).unwrap_err().why, Why::Owner { uid: 65_534 });
        }
        assert!(matches!(check(&folder.path().join("none")).unwrap_err().why, Why::Unreadable { .. }));
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let (open, link) = (folder.path().join("open"), folder.path().join("link"));
        fs::create_dir(&open).unwrap();
        set(&open, 0o777);
        symlink(&open, &link).unwrap();
        assert_eq!(check(&link).unwrap_err().path, open.canonicalize().unwrap());
    }
}
