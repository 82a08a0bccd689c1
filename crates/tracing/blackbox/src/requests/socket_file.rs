//! Where a recorder listens: a socket that any user may connect to, in a folder where nobody else can put another one.

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

/// Where it is, if not there; nowhere, if that is empty.
pub(super) const VARIABLE: &str = "HOWLATE_RECORDER";
pub(super) const USUAL: &str = "/run/howlate/record";
/// Modes of its folder: as everybody has to reach it, and as an earlier version made it for something else.
const OPEN_TO_ALL: u32 = 0o755;
const CLOSED_TO_OTHERS: u32 = 0o700;
/// Connections that wait to be accepted.
const WAITING: i32 = 512;

/// Why programs cannot ask this recorder for anything.
#[derive(Debug, thiserror::Error)]
pub enum NotListening {
    /// Another recorder is there.
    #[error("another recorder listens at {}, and is asked instead of this one", place.display())]
    Another {
        /// Where it listens.
        place: PathBuf,
    },
    /// Others could put something else in its place.
    #[error(
        "others may write to {}, where it would listen; `chmod go-w {}`, or name another place in {VARIABLE}",
        folder.display(),
        folder.display()
    )]
    Open {
        /// Its folder.
        folder: PathBuf,
    },
    /// Its owner could put something else in its place.
    #[error(
        "{}, where it would listen, belongs to user {uid}; name another place in {VARIABLE}",
        folder.display()
    )]
    Foreign {
        /// Its folder.
        folder: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// The kernel's reason.
    #[error("it cannot listen at {}: {source}; {VARIABLE} names another place", place.display())]
    Io {
        /// Where it would.
        place: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Where to listen; `None`: nowhere.
pub(crate) fn socket_path() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE);
    let place = named.map_or_else(|| PathBuf::from(USUAL), PathBuf::from);
    (!place.as_os_str().is_empty()).then_some(place)
}

/// The socket's file, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Its file system and number.
    id: (u64, u64),
}

impl SocketFile {
    /// Listens there. A socket to which nobody listens any more is replaced.
    pub(super) fn listen(path: &Path) -> Result<(Self, OwnedFd), NotListening> {
        let failed = |source: io::Error| NotListening::Io { place: path.to_owned(), source };
        let folder = path.parent().unwrap_or(Path::new("/"));
        if path == Path::new(USUAL) {
            open_to_all(folder);
        }
        let address = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
        let is_there = path.symlink_metadata().is_ok();
        if is_there && !is_abandoned(path, &address).map_err(failed)? {
            return Err(NotListening::Another { place: path.to_owned() });
        }
        is_private(folder).map_err(failed)??;
        let socket = socket().map_err(failed)?;
        if is_there {
            fs::remove_file(path).map_err(failed)?;
        }
        bind(&socket, &address).map_err(|error| failed(error.into()))?;
        let file = Self { path: path.to_owned(), id: id(path).map_err(failed)? };
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(failed)?;
        listen(&socket, WAITING).map_err(|error| failed(error.into()))?;
        Ok((file, socket))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // By now it may be another's.
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
    fs::symlink_metadata(place).map(|found| (found.dev(), found.ino()))
}

/// Makes the folder, or opens one that is this user's: an earlier version closed it to others, for a journal. Where neither can
/// be, what follows tells.
fn open_to_all(folder: &Path) {
    let is_made = fs::DirBuilder::new().mode(OPEN_TO_ALL).create(folder).is_ok();
    let is_closed = |found: &Metadata| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o7777 == CLOSED_TO_OTHERS
    };
    // One that was made may have less, by the umask.
    if is_made || fs::symlink_metadata(folder).is_ok_and(|found| is_closed(&found)) {
        drop(fs::set_permissions(folder, Permissions::from_mode(OPEN_TO_ALL)));
    }
}

/// Whether nobody but this user and root can replace what is in it.
fn is_private(folder: &Path) -> io::Result<Result<(), NotListening>> {
    let found = folder.metadata()?;
    let (uid, folder) = (found.uid(), || folder.to_owned());
    Ok(match uid == 0 || uid == geteuid().as_raw() {
        false => Err(NotListening::Foreign { folder: folder(), uid }),
        true if found.mode() & 0o022 != 0 => Err(NotListening::Open { folder: folder() }),
        true => Ok(()),
    })
}

/// Whether it is a socket to which nobody listens, as a killed recorder leaves one.
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
        assert!(matches!(SocketFile::listen(&path), Err(NotListening::Another { .. })));
        drop(first);
        assert!(!path.exists());
        // As a killed one leaves it: the file is there, and nobody listens.
        let abandoned = folder.path().join("abandoned");
        let socket = socket().unwrap();
        bind(&socket, &SocketAddrUnix::new(&abandoned).unwrap()).unwrap();
        drop(socket);
        let taken = SocketFile::listen(&abandoned).unwrap();
        // Another's file is left alone.
        fs::remove_file(&abandoned).unwrap();
        fs::write(&abandoned, "mine").unwrap();
        assert!(matches!(SocketFile::listen(&abandoned), Err(NotListening::Another { .. })));
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
        // Somebody chose that.
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
