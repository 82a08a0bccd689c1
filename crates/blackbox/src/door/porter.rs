//! Who lets programs in: a thread that hears what they say, looks at what they hand over, and hands on what it may be.
//!
//! A file may be anything: closing a stranger's connection can take as long as its owner likes, and so can giving up a connection over
//! which one was sent. Files are received here alone, in a table of this thread's own, and none is ever closed: the thread's end does
//! that, which waits for none of them. Whoever records waits for nothing of it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{MaybeUninit, forget};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use howlate_linux::clock;
use howlate_linux::peer::{self, Peer};
use howlate_model::Span;
use howlate_watched_program::Loops;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, SocketFlags, accept_with, recvmsg, sendmsg, shutdown,
};

use super::is_own;
use super::message::{LONGEST, Message, message};

/// It stays for so long at most for those who have connected and say nothing yet.
pub(super) const STAY: Span = Span::from_secs(2);
/// It goes after so many connections, of which a user who is not believed has so many.
const CONNECTIONS: usize = 200;
const OF_ONE_USER: usize = 32;
/// Files that one message can hand over: `SCM_MAX_FD`. Those for which there is no room the kernel closes at once.
///
/// Source: <https://man7.org/linux/man-pages/man7/unix.7.html>
const FILES: usize = 253;
/// Bytes of what is handed on: who says it, how much, and what.
const WHO: usize = 4;
const LENGTH: usize = 2;
const HANDED: usize = 2 * WHO + LENGTH + LONGEST;

/// Whoever has connected, and said nothing yet.
struct Visitor {
    connection: OwnedFd,
    peer: Peer,
}

/// What came over a connection.
enum Heard {
    Nothing,
    Over,
    Said { bytes: Vec<u8>, files: Vec<OwnedFd> },
}

/// What one program has said, as it is handed on.
pub(super) struct Handed {
    pub(super) peer: Peer,
    pub(super) bytes: Vec<u8>,
    /// The connection, and memory for loops.
    pub(super) files: Option<(OwnedFd, OwnedFd)>,
}

/// Lets in who is at the `door`, and hands on what they say, until nobody is there who has said nothing.
pub(super) fn let_in(door: &OwnedFd, inside: &OwnedFd) {
    let began = clock::now();
    let mut porter = Porter { door, inside, visitors: Vec::new(), seen: Vec::new() };
    loop {
        porter.welcome();
        let is_enough = porter.hear() || porter.seen.len() >= CONNECTIONS;
        let left = STAY.minus(clock::now().since(began));
        if is_enough || porter.visitors.is_empty() || left.is_zero() {
            break;
        }
        porter.wait(left);
    }
    // To be closed by the end of this thread.
    forget(porter.visitors);
}

struct Porter<'a> {
    door: &'a OwnedFd,
    inside: &'a OwnedFd,
    visitors: Vec<Visitor>,
    /// Whose each connection was.
    seen: Vec<u32>,
}

impl Porter<'_> {
    fn welcome(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while self.seen.len() < CONNECTIONS
            && let Ok(connection) = accept_with(self.door, flags)
        {
            let Ok(peer) = peer::of(&connection) else { return forget(connection) };
            let before = self.seen.iter().filter(|uid| **uid == peer.uid).count();
            self.seen.push(peer.uid);
            if is_own(peer.uid) || before < OF_ONE_USER {
                self.visitors.push(Visitor { connection, peer });
            } else {
                forget(connection);
            }
        }
    }

    /// Hands on what has been said; `true`: somebody hands over more than there is room for.
    fn hear(&mut self) -> bool {
        let mut too_much = false;
        for visitor in std::mem::take(&mut self.visitors) {
            match hear(&visitor.connection) {
                Heard::Nothing => self.visitors.push(visitor),
                Heard::Over => forget(visitor),
                Heard::Said { bytes, files } => {
                    too_much |= files.len() > 1;
                    self.hand_on(&visitor, &bytes, &files);
                    forget((visitor, files));
                }
            }
        }
        too_much
    }

    /// What there is no room for inside is lost, as it is of a recorder that is asked too much.
    fn hand_on(&self, visitor: &Visitor, bytes: &[u8], files: &[OwnedFd]) {
        let connection = visitor.connection.as_fd();
        let sent = match (message(bytes, clock::now()), files) {
            (Some(Message::Snap { .. }), _) => send(self.inside, visitor.peer, bytes, &[]),
            (Some(Message::Loops), [memory]) if Loops::are_in(memory) && is_silent(connection) => {
                send(self.inside, visitor.peer, bytes, &[connection, memory.as_fd()])
            }
            _ => Ok(()),
        };
        let _ = sent;
    }

    fn wait(&self, most: Span) {
        let connections = self.visitors.iter().map(|one| one.connection.as_fd());
        let all = connections.chain([self.door.as_fd()]);
        let mut all: Vec<PollFd<'_>> = all.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN)).collect();
        let most = Timespec {
            tv_sec: i64::try_from(most.as_nanos() / 1_000_000_000).unwrap_or(0),
            tv_nsec: i64::try_from(most.as_nanos() % 1_000_000_000).unwrap_or(0),
        };
        let _ = poll(&mut all, Some(&most));
    }
}

fn hear(connection: &OwnedFd) -> Heard {
    let mut bytes = [0; LONGEST];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = match recvmsg(connection, &mut [IoSliceMut::new(&mut bytes)], &mut with, flags) {
        Ok(read) if read.bytes > 0 => read.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return Heard::Nothing,
        Ok(_) | Err(_) => return Heard::Over,
    };
    let bytes = bytes.iter().take(read).copied().collect();
    Heard::Said { bytes, files: received(&mut with) }
}

fn received(with: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let files = |one| match one {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    };
    with.drain().flat_map(files).collect()
}

/// Whether nothing more has come over a connection; from now on nothing will. So whoever has it can close it at once.
fn is_silent(connection: BorrowedFd<'_>) -> bool {
    if shutdown(connection, Shutdown::Read).is_err() || set_socket_passcred(connection, true).is_err() {
        return false;
    }
    // Whose it is comes with each message, also with an empty one, and not with the end.
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES), ScmCredentials(1))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    let more = recvmsg(connection, &mut [IoSliceMut::new(&mut byte)], &mut with, RecvFlags::DONTWAIT);
    let said: Vec<RecvAncillaryMessage<'_>> = with.drain().collect();
    let is_over = said.is_empty() && more.is_ok_and(|read| read.bytes == 0);
    for one in said {
        if let RecvAncillaryMessage::ScmRights(files) = one {
            files.for_each(forget);
        }
    }
    is_over
}

fn send(inside: &OwnedFd, peer: Peer, bytes: &[u8], files: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let length = u16::try_from(bytes.len()).unwrap_or(0).to_ne_bytes();
    let mut record = [&peer.pid.to_ne_bytes()[..], &peer.uid.to_ne_bytes(), &length, bytes].concat();
    record.resize(HANDED, 0);
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = SendAncillaryBuffer::new(&mut room);
    if !files.is_empty() {
        with.push(SendAncillaryMessage::ScmRights(files));
    }
    sendmsg(inside, &[IoSlice::new(&record)], &mut with, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop)
}

/// The next of what was handed on.
pub(super) fn receive(inside: &OwnedFd) -> Option<Handed> {
    let mut record = [0; HANDED];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = recvmsg(inside, &mut [IoSliceMut::new(&mut record)], &mut with, flags).ok()?;
    let files = <[OwnedFd; 2]>::try_from(received(&mut with)).ok();
    let (who, said) = record.get(..read.bytes)?.split_at_checked(2 * WHO + LENGTH)?;
    let number = |place: usize| Some(u32::from_ne_bytes(who.get(place..place + WHO)?.try_into().ok()?));
    let length = u16::from_ne_bytes(who.get(2 * WHO..)?.try_into().ok()?);
    Some(Handed {
        peer: Peer { pid: number(0)?, uid: number(WHO)? },
        bytes: said.get(..usize::from(length))?.to_vec(),
        files: files.map(|[connection, memory]| (connection, memory)),
    })
}

/// A pair of sockets: what is sent at the second is received at the first.
pub(super) fn inside() -> io::Result<[OwnedFd; 2]> {
    let (first, second) = std::os::unix::net::UnixStream::pair()?;
    Ok([first.into(), second.into()])
}
