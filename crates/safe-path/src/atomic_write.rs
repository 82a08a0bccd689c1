//! Files that are written as a whole, in place of what they held.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Whoever reads them is another user, and may come at any time.
const FOR_ALL: u32 = 0o644;

/// Writes the file as a whole, or leaves what is there.
///
/// # Errors
///
/// When its folder cannot be written, or is full.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = beside(path)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(Permissions::from_mode(FOR_ALL))?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether it can be written, as far as can be told before there is anything to write.
///
/// # Errors
///
/// When it is a folder, or no file can be made beside it.
pub fn check(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    beside(path).map(drop)
}

/// A new file in the same folder, which is gone if nothing becomes of it.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    NamedTempFile::new_in(folder)
}
