//! The socket's file: any user may connect, but only root and this user can replace it.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use rustix::process::geteuid;

/// Environment variable with another path; empty: no socket.
pub(super) const VARIABLE: &str = "HOWLATE_RECORDER";
pub(super) const DEFAULT_PATH: &str = "/run/howlate/record";
/// Modes of its folder: reachable by all users, and as an earlier version created it.
const OPEN_TO_ALL: u32 = 0o755;
const CLOSED_TO_OTHERS: u32 = 0o700;
const BACKLOG: i32 = 512;

/// Why programs cannot send requests.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another recorder listens there.
    #[error("another recorder listens at {}, and is asked instead of this one", place.display())]
    Another { place: PathBuf },
    /// Other users can write to the folder.
    #[error(
        "others may write to {}, where it would listen; `chmod go-w {}`, or name another place in {VARIABLE}",
        folder.display(),
        folder.display()
    )]
    Open { folder: PathBuf },
    /// The folder belongs to another user.
    #[error(
        "{}, where it would listen, belongs to user {uid}; name another place in {VARIABLE}",
        folder.display()
    )]
    Foreign {
        folder: PathBuf,
        /// Owner of the folder.
        uid: u32,
    },
    /// A system call failed.
    #[error("it cannot listen at {}: {source}; {VARIABLE} names another place", place.display())]
    Io { place: PathBuf, source: io::Error },
}

/// `None` if the variable is empty.
pub(crate) fn socket_path() -> Option<PathBuf> {
    let variable = std::env::var_os(VARIABLE);
    let place = variable.map_or_else(|| PathBuf::from(DEFAULT_PATH), PathBuf::from);
    (!place.as_os_str().is_empty()).then_some(place)
}

#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode numbers.
    id: (u64, u64),
}

impl SocketFile {
    /// Listens at `path`; replaces an abandoned socket.
    pub(super) fn listen(path: &Path) -> Result<(Self, OwnedFd), ListenError> {
        let failed = |source: io::Error| ListenError::Io { place: path.to_owned(), source };
        let folder = path.parent().unwrap_or(Path::new("/"));
        if path == Path::new(DEFAULT_PATH) {
            open_to_all(folder);
        }
        let address = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
        let is_there = path.symlink_metadata().is_ok();
        if is_there && !is_abandoned(path, &address).map_err(failed)? {
            return Err(ListenError::Another { place: path.to_owned() });
        }
        is_private(folder).map_err(failed)??;
        let socket = socket().map_err(failed)?;
        if is_there {
            fs::remove_file(path).map_err(failed)?;
        }
        bind(&socket, &address).map_err(|error| failed(error.into()))?;
        let file = Self { path: path.to_owned(), id: id(path).map_err(failed)? };
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(failed)?;
        listen(&socket, BACKLOG).map_err(|error| failed(error.into()))?;
        Ok((file, socket))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Only if it is still this one.
        if id(&self.path).is_ok_and(|id| id == self.id) {
            drop(fs::remove_file(&self.path));
        }
    }
}

pub(super) fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

fn id(place: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(place).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Creates the folder, or opens this user's folder that an earlier version closed to others for a journal. Errors
/// appear in the checks that follow.
fn open_to_all(folder: &Path) {
    let is_created = fs::DirBuilder::new().mode(OPEN_TO_ALL).create(folder).is_ok();
    let is_closed = |metadata: &Metadata| {
        metadata.is_dir()
            && metadata.uid() == geteuid().as_raw()
            && metadata.mode() & 0o7777 == CLOSED_TO_OTHERS
    };
    // The umask may have reduced the mode.
    if is_created || fs::symlink_metadata(folder).is_ok_and(|metadata| is_closed(&metadata)) {
        drop(fs::set_permissions(folder, Permissions::from_mode(OPEN_TO_ALL)));
    }
}

/// Whether only this user and root can replace files in it.
fn is_private(folder: &Path) -> io::Result<Result<(), ListenError>> {
    let metadata = folder.metadata()?;
    let (uid, folder) = (metadata.uid(), || folder.to_owned());
    Ok(match uid == 0 || uid == geteuid().as_raw() {
        false => Err(ListenError::Foreign { folder: folder(), uid }),
        true if metadata.mode() & 0o022 != 0 => Err(ListenError::Open { folder: folder() }),
        true => Ok(()),
    })
}

/// Whether it is a socket without listener, as a killed recorder leaves it.
fn is_abandoned(place: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    let is_socket = fs::symlink_metadata(place)?.file_type().is_socket();
    Ok(is_socket && connect(socket()?, address) == Err(Errno::CONNREFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_recorder_is_asked_and_an_abandoned_place_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let first = SocketFile::listen(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o666, "whoever it is");
        assert!(matches!(SocketFile::listen(&path), Err(ListenError::Another { .. })));
        drop(first);
        assert!(!path.exists());
        // As a killed recorder leaves it.
        let abandoned = folder.path().join("abandoned");
        let socket = socket().unwrap();
        bind(&socket, &SocketAddrUnix::new(&abandoned).unwrap()).unwrap();
        drop(socket);
        let taken = SocketFile::listen(&abandoned).unwrap();
        // Files of others remain.
        fs::remove_file(&abandoned).unwrap();
        fs::write(&abandoned, "mine").unwrap();
        assert!(matches!(SocketFile::listen(&abandoned), Err(ListenError::Another { .. })));
        drop(taken);
        assert_eq!(fs::read_to_string(&abandoned).unwrap(), "mine");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let refused = SocketFile::listen(&folder.path().join("other")).unwrap_err().to_string();
        assert!(refused.contains("others may write to") && refused.contains("chmod go-w"), "{refused}");
    }

    #[test]
    fn its_folder_is_open_to_everybody_whatever_was_there() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("howlate");
        let mode = || folder.metadata().unwrap().mode() & 0o7777;
        open_to_all(&folder);
        assert_eq!(mode(), OPEN_TO_ALL);
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        open_to_all(&folder);
        assert_eq!(mode(), OPEN_TO_ALL);
        // A mode set on purpose remains.
        fs::set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        open_to_all(&folder);
        assert_eq!(mode(), 0o750);
    }

    #[test]
    fn a_folder_of_another_user_is_none_to_listen_in() {
        let folder = tempfile::tempdir().unwrap();
        if std::os::unix::fs::chown(folder.path(), Some(65_534), None).is_err() {
            return howlate_testing::skip("giving a folder away needs root");
        }
        let refused = SocketFile::listen(&folder.path().join("record")).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 65534"), "{refused}");
    }
}
