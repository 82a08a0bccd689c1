//! Files that are written as a whole, in place of what they held.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

use tempfile::{Builder, NamedTempFile};

/// For a reader that is another user.
const FOR_ALL: u32 = 0o644;
/// As the umask leaves it.
const BY_UMASK: u32 = 0o666;
/// Whoever reads a pipe is waited for so long at a time.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
const LOOKS: u32 = 500;

/// Writes the file as a whole, or leaves what is there; the umask says for whom. What is no file, such as a pipe, is written to.
///
/// # Errors
///
/// When its folder cannot be written, or is full; when somebody else has put something there that is no file, or nobody reads a pipe.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    replace_by(path, text, |_| Ok(()))
}

/// The same for whoever wants to read it, at any time.
///
/// # Errors
///
/// As [`replace`].
pub fn replace_for_all(path: &Path, text: &str) -> io::Result<()> {
    replace_by(path, text, |new| new.set_permissions(Permissions::from_mode(FOR_ALL)))
}

fn replace_by(path: &Path, text: &str, finish: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    if is_kernels(path) {
        return OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes());
    }
    if is_stream(path) {
        return write_to_pipe(path, text.as_bytes());
    }
    let mut new = beside(path)?;
    new.as_file_mut().write_all(text.as_bytes())?;
    finish(new.as_file())?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether what is no file may be written to. In a folder that others may write, anybody can have put a pipe or a link there: it must be
/// this user's own, and a pipe; or what the kernel has for it, such as `/dev/stdout`.
///
/// # Errors
///
/// What else it is.
pub fn check_stream(path: &Path) -> io::Result<()> {
    if is_kernels(path) {
        return Ok(());
    }
    let found = path.symlink_metadata()?;
    let refused = |says| Err(io::Error::new(io::ErrorKind::InvalidInput, says));
    match found.uid() == geteuid().as_raw() {
        _ if found.is_symlink() => refused("it is a link to something that is no file"),
        _ if !found.file_type().is_fifo() => refused("it is neither a file nor a pipe"),
        false => refused("it is another user's pipe"),
        true => Ok(()),
    }
}

fn write_to_pipe(path: &Path, mut bytes: &[u8]) -> io::Result<()> {
    check_stream(path)?;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let open = || OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path);
    let nobody = || io::Error::new(io::ErrorKind::TimedOut, "nobody reads the pipe");
    // Who opens it for reading may come later.
    let mut opened = open();
    for _ in 0..LOOKS {
        if opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(Errno::NXIO.raw_os_error())) {
            let _ = poll(&mut [], Some(&LOOK_AGAIN));
            opened = open();
        }
    }
    let mut pipe = opened.map_err(|error| {
        if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) { nobody() } else { error }
    })?;
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if poll(&mut [PollFd::new(&pipe, PollFlags::OUT)], Some(&PATIENCE)) == Ok(0) {
                    return Err(nobody());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
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
    match is_stream(path) {
        true => check_stream(path),
        false => beside(path).map(drop),
    }
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
    is_kernels(path) || path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn is_kernels(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/dev") && !path.starts_with("/dev/shm")
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
        |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).mode(BY_UMASK).open(path);
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
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        replace(&path, "now").unwrap();
        let by_umask = mode();
        replace_for_all(&path, "now").unwrap();
        rustix::process::umask(umask);
        assert_eq!((by_umask, mode()), (0o600, FOR_ALL));
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
    fn what_somebody_else_may_have_put_there_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        std::os::unix::fs::symlink("pipe", at("link")).unwrap();
        for name in ["device", "link"] {
            for refused in [check(&at(name)), replace(&at(name), "text")] {
                assert_eq!(refused.unwrap_err().to_string(), "it is a link to something that is no file");
            }
        }
        // Only root can give a pipe away.
        if std::os::unix::fs::chown(at("pipe"), Some(65_534), None).is_ok() {
            for refused in [check(&at("pipe")), replace(&at("pipe"), "text")] {
                assert_eq!(refused.unwrap_err().to_string(), "it is another user's pipe");
            }
        }
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
