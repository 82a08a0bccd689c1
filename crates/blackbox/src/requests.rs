//! What programs ask of a recorder, over a socket at an agreed place: to keep what all CPUs have just done, or to read the memory
//! in which they leave the turns of their loops.
//!
//! Anybody may connect, and say anything: who it is, the kernel tells. Nothing is waited for, and of everything there is only so
//! much. The other end is in `loop/` and `python/howlate/loop.py`.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use howlate_linux::peer::{self, Peer};
use howlate_model::{MonotonicTime, Span};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags,
    SocketType, accept_with, bind, connect, listen, recvmsg, socket_with,
};
use rustix::process::geteuid;

/// Where it is, if not there; nowhere, if that is empty.
const VARIABLE: &str = "HOWLATE_RECORDER";
const USUAL: &str = "/run/howlate/record";
/// Modes of its folder: as everybody has to reach it, and as an earlier version made it for something else.
const OPEN_TO_ALL: u32 = 0o755;
const CLOSED_TO_OTHERS: u32 = 0o700;
/// Connections that wait to be accepted; as many may have been and have said nothing yet.
const WAITING: usize = 64;
/// Lengths in a message: what it is, the time, the name of the thread, why.
const KIND: usize = 8;
const TIME: usize = 8;
const COMM: usize = 16;
const REASON: usize = 128;
/// More than the longest message.
const LONGEST: usize = 256;
/// A request is looked at this soon after it was made, or it is not said when it was.
const RECENT: Span = Span::from_secs(10);

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

/// What a program asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Snap(SnapRequest),
    Loops(HandedOver),
}

/// To keep what all CPUs have just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapRequest {
    pub(crate) peer: Peer,
    /// When; `None` where the program says what cannot be.
    pub(crate) at: Option<MonotonicTime>,
    /// What its thread is called.
    pub(crate) thread: String,
    pub(crate) reason: Option<String>,
}

/// To read the turns of its loops.
#[derive(Debug)]
pub(crate) struct HandedOver {
    pub(crate) peer: Peer,
    /// Ends with the program.
    pub(crate) connection: OwnedFd,
    /// Said to be memory for loops.
    pub(crate) memory: OwnedFd,
}

/// A message, as far as it says anything.
#[derive(Debug, PartialEq, Eq)]
enum Message {
    Snap { at: Option<MonotonicTime>, thread: String, reason: Option<String> },
    Loops,
}

/// Where to listen; `None`: nowhere.
pub(crate) fn place() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE);
    let place = named.map_or_else(|| PathBuf::from(USUAL), PathBuf::from);
    (!place.as_os_str().is_empty()).then_some(place)
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    place: PathBuf,
    /// The socket's file: its file system and number.
    id: (u64, u64),
    /// Connections over which nothing has come yet.
    waiting: Vec<OwnedFd>,
}

impl Listener {
    /// Listens there. A socket to which nobody listens any more is replaced.
    pub(crate) fn open(place: &Path) -> Result<Self, NotListening> {
        let failed = |source: io::Error| NotListening::Io { place: place.to_owned(), source };
        let folder = place.parent().unwrap_or(Path::new("/"));
        if place == Path::new(USUAL) {
            open_to_all(folder);
        }
        let address = SocketAddrUnix::new(place).map_err(|error| failed(error.into()))?;
        let is_there = place.symlink_metadata().is_ok();
        if is_there && !is_abandoned(place, &address).map_err(failed)? {
            return Err(NotListening::Another { place: place.to_owned() });
        }
        is_private(folder).map_err(failed)??;
        let socket = socket().map_err(failed)?;
        if is_there {
            fs::remove_file(place).map_err(failed)?;
        }
        bind(&socket, &address).map_err(|error| failed(error.into()))?;
        let id = id(place).map_err(failed)?;
        let waiting = Vec::new();
        let listener = Self { socket, place: place.to_owned(), id, waiting };
        fs::set_permissions(place, Permissions::from_mode(0o666)).map_err(failed)?;
        listen(&listener.socket, i32::try_from(WAITING).unwrap_or(i32::MAX))
            .map_err(|error| failed(error.into()))?;
        Ok(listener)
    }

    /// What was asked for since the last call.
    pub(crate) fn take(&mut self, now: MonotonicTime) -> Vec<Request> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // One more than wait at most, which is how `listen(2)` counts.
        self.waiting.extend((0..=WAITING).map_while(|_| accept_with(&self.socket, flags).ok()));
        let mut asked = Vec::new();
        for connection in std::mem::take(&mut self.waiting) {
            match receive(&connection) {
                Received::NotYet => self.waiting.push(connection),
                Received::Over => {}
                Received::Message(bytes, file) => asked.extend(request(connection, &bytes, file, now)),
            }
        }
        // Who has said nothing for longest makes room for others.
        self.waiting.drain(..self.waiting.len().saturating_sub(WAITING));
        asked
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // By now it may be another's.
        if id(&self.place).is_ok_and(|id| id == self.id) {
            drop(fs::remove_file(&self.place));
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
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

enum Received {
    NotYet,
    Message(Vec<u8>, Option<OwnedFd>),
    Over,
}

fn receive(connection: &OwnedFd) -> Received {
    let mut bytes = [0; LONGEST];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = match recvmsg(connection, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
        Ok(read) if read.bytes > 0 => read.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return Received::NotYet,
        Ok(_) | Err(_) => return Received::Over,
    };
    let mut files = control.drain().flat_map(|one| match one {
        RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    Received::Message(bytes.iter().take(read).copied().collect(), files.next())
}

fn request(
    connection: OwnedFd,
    bytes: &[u8],
    memory: Option<OwnedFd>,
    now: MonotonicTime,
) -> Option<Request> {
    let peer = peer::of(&connection).ok()?;
    match message(bytes, now)? {
        Message::Snap { at, thread, reason } => Some(Request::Snap(SnapRequest { peer, at, thread, reason })),
        Message::Loops => Some(Request::Loops(HandedOver { peer, connection, memory: memory? })),
    }
}

fn message(bytes: &[u8], now: MonotonicTime) -> Option<Message> {
    let (kind, rest) = bytes.split_at_checked(KIND)?;
    match text(kind).as_str() {
        "loops1" => Some(Message::Loops),
        "snap1" => {
            let (time, rest) = rest.split_first_chunk::<TIME>()?;
            let (thread, reason) = rest.split_at_checked(COMM)?;
            let reason = text(reason.get(..REASON).unwrap_or(reason));
            let at = recent(u64::from_ne_bytes(*time), now);
            Some(Message::Snap {
                at,
                thread: text(thread),
                reason: Some(reason).filter(|why| !why.is_empty()),
            })
        }
        _ => None,
    }
}

/// Text up to its end, without what is no letter and no space.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
    String::from_utf8_lossy(bytes).chars().map(shown).collect::<String>().trim().to_owned()
}

/// A reading of the clock that can have been made just now.
fn recent(nanos: u64, now: MonotonicTime) -> Option<MonotonicTime> {
    let at = MonotonicTime::from_nanos(i64::try_from(nanos).ok()?);
    (at <= now && now.since(at) <= RECENT).then_some(at)
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::os::fd::AsFd as _;

    use proptest::prelude::*;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};

    use super::*;

    const NOW: MonotonicTime = MonotonicTime::from_nanos(60_000_000_000);

    fn snap(at: u64, thread: &[u8], reason: &[u8]) -> Vec<u8> {
        let mut thread = thread.to_vec();
        thread.resize(COMM, 0);
        [&b"snap1\0\0\0"[..], &at.to_ne_bytes(), &thread, reason].concat()
    }

    #[test]
    fn a_message_says_who_when_and_why() {
        let said = |at, thread: &str, reason: Option<&str>| {
            let (thread, reason) = (thread.to_owned(), reason.map(str::to_owned));
            Some(Message::Snap { at, thread, reason })
        };
        let then = MonotonicTime::from_nanos(59_000_000_000);
        let at = 59_000_000_000;
        assert_eq!(
            message(&snap(at, b"player", b"frame dropped\0\0"), NOW),
            said(Some(then), "player", Some("frame dropped"))
        );
        assert_eq!(message(&snap(at, b"", b""), NOW), said(Some(then), "", None));
        assert_eq!(message(b"loops1\0\0", NOW), Some(Message::Loops));
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        for bytes in [
            &b""[..],
            b"snap1",
            b"snap1\0\0\0",
            b"snap2\0\0\0",
            b"loops1",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
            &snap(0, b"", b"")[..KIND + TIME + COMM - 1],
        ] {
            assert_eq!(message(bytes, NOW), None, "{bytes:?}");
        }
        for at in [0, 49_000_000_000, 60_000_000_001, u64::MAX] {
            let Some(Message::Snap { at, .. }) = message(&snap(at, b"a", b"b"), NOW) else { panic!("{at}") };
            assert_eq!(at, None);
        }
        let hostile = snap(0, b"\x1b[2J\xfe", &[b'a'; 500]);
        let Some(Message::Snap { thread, reason, .. }) = message(&hostile, NOW) else { panic!("none") };
        assert_eq!((thread.as_str(), reason.unwrap().len()), ("[2J\u{fffd}", REASON));
        let lines = snap(0, b"a", b"one\ntwo\r\"\x7f");
        let Some(Message::Snap { reason, .. }) = message(&lines, NOW) else { panic!("none") };
        assert_eq!(reason.as_deref(), Some("one two \""));
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_short_and_legible(
            kind in prop_oneof![Just(*b"snap1\0\0\0"), Just(*b"loops1\0\0"), any::<[u8; KIND]>()],
            rest in prop::collection::vec(any::<u8>(), 0..LONGEST),
        ) {
            let said = message(&[&kind[..], &rest].concat(), NOW);
            prop_assert_eq!(said.is_none(), &kind != b"loops1\0\0" && (&kind != b"snap1\0\0\0" || rest.len() < TIME + COMM));
            if let Some(Message::Snap { at, thread, reason }) = said {
                prop_assert!(at.is_none_or(|at| at <= NOW && NOW.since(at) <= RECENT));
                let reason = reason.unwrap_or_default();
                prop_assert!(thread.chars().count() <= COMM && reason.chars().count() <= REASON);
                prop_assert!(!(thread + &reason).contains(char::is_control));
            }
        }
    }

    /// A file that programs build in.
    fn published(name: &str) -> String {
        std::fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn programs_of_each_language_say_it_the_same_way() {
        let header = published("loop/howlate_snap.h") + &published("loop/howlate.h");
        let rust = published("loop/src/layout.rs") + &published("loop/src/recorder.rs");
        let python = published("python/howlate/loop.py");
        for (name, value) in [("KIND", KIND), ("COMM", COMM), ("REASON", REASON)] {
            assert!(header.contains(&format!("HOWLATE_{name} = {value}")), "{name}");
            assert!(rust.contains(&format!("const {name}: usize = {value};")), "{name}");
        }
        assert!(python.contains(&format!("_KIND, _COMM, _REASON = {KIND}, {COMM}, {REASON}\n")));
        for text in [&header, &rust, &python] {
            for word in ["snap1", "loops1", USUAL, VARIABLE] {
                assert!(text.contains(&format!("\"{word}")), "{word}");
            }
        }
    }

    fn client(place: &Path) -> OwnedFd {
        let socket = socket().unwrap();
        connect(&socket, &SocketAddrUnix::new(place).unwrap()).unwrap();
        socket
    }

    #[test]
    fn whoever_connects_is_heard_and_the_socket_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("record");
        let mut listener = Listener::open(&place).unwrap();
        assert_eq!(place.metadata().unwrap().mode() & 0o777, 0o666, "whoever it is");
        // One that is gone by the time that it is heard, one that says nothing, one that hands no file over, and one that does.
        let gone = client(&place);
        send(&gone, &snap(0, b"player", b"frame dropped"), SendFlags::NOSIGNAL).unwrap();
        drop(gone);
        let [_silent, without, with] = [(); 3].map(|()| client(&place));
        send(&without, b"loops1\0\0", SendFlags::NOSIGNAL).unwrap();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        let files = [without.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&with, &[IoSlice::new(b"loops1\0\0")], &mut control, SendFlags::NOSIGNAL).unwrap();
        let asked = listener.take(NOW);
        let [Request::Snap(snap), Request::Loops(loops)] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!((snap.thread.as_str(), snap.reason.as_deref()), ("player", Some("frame dropped")));
        assert_eq!((snap.peer.pid, loops.peer.pid), (std::process::id(), std::process::id()));
        assert_eq!((listener.waiting.len(), listener.take(NOW).len()), (1, 0));
        drop(listener);
        assert!(!place.exists());
    }

    #[test]
    fn who_says_nothing_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("record");
        let mut listener = Listener::open(&place).unwrap();
        let mut silent = Vec::new();
        for _ in 0..3 {
            silent.extend((0..=WAITING).map(|_| client(&place)));
            assert_eq!((listener.take(NOW).len(), listener.waiting.len()), (0, WAITING));
        }
        let heard = client(&place);
        send(&heard, &snap(0, b"a", b"b"), SendFlags::NOSIGNAL).unwrap();
        assert_eq!(listener.take(NOW).len(), 1);
        // One that said nothing at first is heard as well.
        send(silent.last().unwrap(), &snap(0, b"a", b"b"), SendFlags::NOSIGNAL).unwrap();
        assert_eq!((listener.take(NOW).len(), listener.waiting.len()), (1, WAITING - 1));
    }

    #[test]
    fn one_recorder_is_asked_and_an_abandoned_place_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("record");
        let first = Listener::open(&place).unwrap();
        assert!(matches!(Listener::open(&place), Err(NotListening::Another { .. })));
        drop(first);
        // As a killed one leaves it: the file is there, and nobody listens.
        let abandoned = folder.path().join("abandoned");
        let socket = socket().unwrap();
        bind(&socket, &SocketAddrUnix::new(&abandoned).unwrap()).unwrap();
        drop(socket);
        let taken = Listener::open(&abandoned).unwrap();
        // Another's file is left alone.
        fs::remove_file(&abandoned).unwrap();
        fs::write(&abandoned, "mine").unwrap();
        assert!(matches!(Listener::open(&abandoned), Err(NotListening::Another { .. })));
        drop(taken);
        assert_eq!(fs::read_to_string(&abandoned).unwrap(), "mine");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let refused = Listener::open(&folder.path().join("other")).unwrap_err().to_string();
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
        let refused = Listener::open(&folder.path().join("record")).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 65534"), "{refused}");
    }
}
