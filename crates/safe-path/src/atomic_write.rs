//! Files that are written as a whole, in place of what they held.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Whoever reads them is another user, and may come at any time.
const FOR_ALL: u32 = 0o644;
/// Until it is whole.
const FOR_ONE: u32 = 0o600;

/// Writes the file as a whole, or leaves what is there. What is no file, such as a pipe, is written to.
///
/// # Errors
///
/// When its folder cannot be written, or is full.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    if is_stream(path) {
        return OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes());
    }
    let mut new = beside(path)?;
    new.as_file_mut().write_all(text.as_bytes())?;
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
    // A pipe would wait for its reader.
    if is_stream(path) { Ok(()) } else { beside(path).map(drop) }
}

/// The first two names that stand for the same file, and the file.
pub fn first_twice<'a, N: Copy>(files: &[(N, &'a Path)]) -> Option<([N; 2], &'a Path)> {
    files.iter().enumerate().find_map(|(at, (name, path))| {
        let (other, _) = files[at + 1..].iter().find(|(_, other)| is_same(path, other))?;
        Some(([*name, *other], *path))
    })
}

/// Whether two paths name the same file, which may not be there yet. What is no file can be written to twice.
fn is_same(one: &Path, other: &Path) -> bool {
    !is_stream(one) && !is_stream(other) && absolute(one) == absolute(other)
}

/// A device, a pipe, or what the kernel shows of an open file: nothing to be replaced by a file.
fn is_stream(path: &Path) -> bool {
    let is_kernels = path.starts_with("/proc") || path.starts_with("/dev") && !path.starts_with("/dev/shm");
    is_kernels || path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The file's folder without symbolic links, and its name.
fn absolute(path: &Path) -> PathBuf {
    let folder = folder_of(path).canonicalize().unwrap_or_else(|_| folder_of(path).to_owned());
    path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file in the same folder, which is gone if nothing becomes of it. Errors are those of the system: nobody asked for
/// the name that it has.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let open =
        |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).mode(FOR_ONE).open(path);
    Builder::new().make_in(folder_of(path), open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        std::fs::write(&path, "before, and longer").unwrap();
        check(&path).unwrap();
        replace(&path, "now").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "now");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, FOR_ALL);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_said_without_a_name_that_nobody_gave() {
        let missing = Path::new("/no/such/folder/result.json");
        for error in [check(missing).unwrap_err(), replace(missing, "now").unwrap_err()] {
            assert_eq!(error.to_string(), "No such file or directory (os error 2)");
        }
    }

    #[test]
    fn a_pipe_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        check(&path).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path).unwrap()
        });
        replace(&path, "result").unwrap();
        assert!(path.metadata().unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), "result");
    }

    #[test]
    fn files_are_the_same_however_they_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        let [a, also_a] = ["a", "link/./a"].map(|name| folder.path().join(name));
        assert!(is_same(&a, &also_a) && !is_same(&a, &folder.path().join("b")));
        assert!(is_same(Path::new("a"), Path::new("./a")));
        assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")), "each can be written to");
        let [b, c] = ["b", "c"].map(Path::new);
        assert_eq!(first_twice(&[(1, b), (2, &a), (3, c), (4, &also_a)]), Some(([2, 4], a.as_path())));
        assert_eq!(first_twice(&[(1, b), (2, c)]), None);
    }
}
