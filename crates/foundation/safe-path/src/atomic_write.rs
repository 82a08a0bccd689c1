//! Files that are replaced atomically.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

use tempfile::{Builder, NamedTempFile};

/// Readable by other users.
const WORLD_READABLE: u32 = 0o644;
/// Before the umask applies.
const DEFAULT_MODE: u32 = 0o666;
/// How long one write to a pipe may block.
const PIPE_TIMEOUT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// A pipe's reader is awaited for this many intervals: 10 s.
const OPEN_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
const OPEN_ATTEMPTS: u32 = 500;

/// Replaces the file as a whole, or leaves it unchanged; the mode follows the umask. Pipes and devices are written to.
///
/// # Errors
///
/// When its folder cannot be written, or is full; when [`check_stream`] fails, or a pipe has no reader.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    replace_with(path, text, |_| Ok(()))
}

/// Like [`replace`], but readable by all users whatever the umask.
///
/// # Errors
///
/// As [`replace`].
pub fn replace_world_readable(path: &Path, text: &str) -> io::Result<()> {
    replace_with(path, text, |new| new.set_permissions(Permissions::from_mode(WORLD_READABLE)))
}

fn replace_with(path: &Path, text: &str, finish: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    if is_device_or_proc(path) {
        return OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes());
    }
    if is_stream(path) {
        return write_to_pipe(path, text.as_bytes());
    }
    let mut new = create_beside(path)?;
    new.as_file_mut().write_all(text.as_bytes())?;
    finish(new.as_file())?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Checks that a path that is not a regular file may be written to. In a folder writable by others, anyone can have created a pipe or a
/// link there: it must be a pipe of this user, or provided by the kernel, such as `/dev/stdout`.
///
/// # Errors
///
/// When it is anything else.
pub fn check_stream(path: &Path) -> io::Result<()> {
    if is_device_or_proc(path) {
        return Ok(());
    }
    let metadata = path.symlink_metadata()?;
    let refused = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    match metadata.uid() == geteuid().as_raw() {
        _ if metadata.is_symlink() => refused("it is a link to something that is no file"),
        _ if !metadata.file_type().is_fifo() => refused("it is neither a file nor a pipe"),
        false => refused("it is another user's pipe"),
        true => Ok(()),
    }
}

fn write_to_pipe(path: &Path, mut bytes: &[u8]) -> io::Result<()> {
    check_stream(path)?;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let open = || OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path);
    let no_reader = || io::Error::new(io::ErrorKind::TimedOut, "nobody reads the pipe");
    // The reader may open it later.
    let mut opened = open();
    for _ in 0..OPEN_ATTEMPTS {
        if opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(Errno::NXIO.raw_os_error())) {
            let _ = poll(&mut [], Some(&OPEN_INTERVAL));
            opened = open();
        }
    }
    let mut pipe = opened.map_err(|error| {
        if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) { no_reader() } else { error }
    })?;
    while !bytes.is_empty() {
        match pipe.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if poll(&mut [PollFd::new(&pipe, PollFlags::OUT)], Some(&PIPE_TIMEOUT)) == Ok(0) {
                    return Err(no_reader());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks in advance whether the file can be written.
///
/// # Errors
///
/// When it is a folder, or no file can be created beside it.
pub fn check(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Opening a pipe would wait for its reader.
    match is_stream(path) {
        true => check_stream(path),
        false => create_beside(path).map(drop),
    }
}

/// The first two names whose paths are the same file, and that path.
pub fn first_duplicate<'a, N: Copy>(files: &[(N, &'a Path)]) -> Option<([N; 2], &'a Path)> {
    files.iter().enumerate().find_map(|(at, (name, path))| {
        let (second, _) = files[at + 1..].iter().find(|(_, later)| is_same(path, later))?;
        Some(([*name, *second], *path))
    })
}

/// Whether two paths name the same file, which need not exist. Streams can be written to twice.
fn is_same(left: &Path, right: &Path) -> bool {
    !is_stream(left) && !is_stream(right) && absolute(left) == absolute(right)
}

/// A device, a pipe, or an open file below `/proc`: must not be replaced by a file.
fn is_stream(path: &Path) -> bool {
    is_device_or_proc(path) || path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn is_device_or_proc(path: &Path) -> bool {
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

/// A new file in the same folder, removed unless persisted. Errors are the kernel's own and do not contain its random
/// name.
fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    let open = |path: &Path| {
        OpenOptions::new().read(true).write(true).create_new(true).mode(DEFAULT_MODE).open(path)
    };
    Builder::new().make_in(folder_of(path), open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_no_temporary_file_remains() {
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
        replace_world_readable(&path, "now").unwrap();
        rustix::process::umask(umask);
        assert_eq!((by_umask, mode()), (0o600, WORLD_READABLE));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_do_not_contain_the_temporary_name() {
        let missing = Path::new("/no/such/folder/result.json");
        for error in [check(missing).unwrap_err(), replace(missing, "now").unwrap_err()] {
            assert_eq!(error.to_string(), "No such file or directory (os error 2)");
        }
    }

    #[test]
    fn a_pipe_stays_a_pipe() {
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
    fn links_and_pipes_of_others_are_refused() {
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
    fn paths_to_one_file_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        let [a, also_a] = ["a", "link/./a"].map(|name| folder.path().join(name));
        assert!(is_same(&a, &also_a) && !is_same(&a, &folder.path().join("b")));
        assert!(is_same(Path::new("a"), Path::new("./a")));
        assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")), "each can be written to");
        let [b, c] = ["b", "c"].map(Path::new);
        assert_eq!(first_duplicate(&[(1, b), (2, &a), (3, c), (4, &also_a)]), Some(([2, 4], a.as_path())));
        assert_eq!(first_duplicate(&[(1, b), (2, c)]), None);
    }
}
