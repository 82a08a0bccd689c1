//! The thread that receives requests: it accepts connections, reads a message from each, checks the file that comes with it, and passes
//! on what is valid.
//!
//! A received file may be anything. Closing a socket with `SO_LINGER` takes as long as its sender likes, and so does closing a connection
//! over which one was sent. This thread therefore has a file table of its own and closes nothing: its end does, which does not wait. The
//! recording never waits for this thread.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{MaybeUninit, forget};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use howlate_linux::clock;
use howlate_linux::peer::{self, Peer};
use howlate_model::Span;
use howlate_watched_program::MarkedLoops;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, SocketFlags, accept_with, recvmsg, sendmsg, shutdown,
};

use super::is_own;
use super::message::{LONGEST, Message, message};

/// It waits so long at most for connections that have sent nothing yet.
pub(super) const STAY: Span = Span::from_secs(2);
/// It ends after so many connections, and reads so many of one user other than root and its own.
const CONNECTIONS: usize = 100;
const OF_ONE_USER: usize = 32;
/// Files that one message can hand over: `SCM_MAX_FD`. Those for which there is no room the kernel closes at once.
///
/// Source: <https://man7.org/linux/man-pages/man7/unix.7.html>
const FILES: usize = 253;
/// Bytes of a record that is passed on: process id, user id, length and message.
const WHO: usize = 4;
const LENGTH: usize = 2;
const RECORD: usize = 2 * WHO + LENGTH + LONGEST;

/// A connection over which nothing has come yet.
struct Connection {
    socket: OwnedFd,
    peer: Peer,
}

/// What a read of a connection gave.
enum Read {
    Nothing,
    Over,
    Message { bytes: Vec<u8>, files: Vec<OwnedFd> },
}

/// A message, as it is passed on.
pub(super) struct Received {
    pub(super) peer: Peer,
    pub(super) bytes: Vec<u8>,
    /// The connection, and memory for loops.
    pub(super) files: Option<(OwnedFd, OwnedFd)>,
}

/// Accepts connections of `listener` and passes their messages on over `channel`, until no connection is left that has sent nothing.
pub(super) fn receive_requests(listener: &OwnedFd, channel: &OwnedFd) {
    let began = clock::now();
    let mut receiver = Receiver { listener, channel, connections: Vec::new(), users: Vec::new() };
    loop {
        receiver.accept();
        let is_enough = receiver.read_all() || receiver.users.len() >= CONNECTIONS;
        let left = STAY.minus(clock::now().since(began));
        if is_enough || receiver.connections.is_empty() || left.is_zero() {
            break;
        }
        receiver.wait(left);
    }
    // To be closed by the end of this thread.
    forget(receiver.connections);
}

/// Whether a connection of this user is read, after those of `users`.
fn is_heard(uid: u32, users: &[u32]) -> bool {
    is_own(uid) || users.iter().filter(|other| **other == uid).count() < OF_ONE_USER
}

struct Receiver<'a> {
    listener: &'a OwnedFd,
    channel: &'a OwnedFd,
    connections: Vec<Connection>,
    /// The user of each connection.
    users: Vec<u32>,
}

impl Receiver<'_> {
    fn accept(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while self.users.len() < CONNECTIONS
            && let Ok(socket) = accept_with(self.listener, flags)
        {
            let Ok(peer) = peer::of(&socket) else { return forget(socket) };
            let is_heard = is_heard(peer.uid, &self.users);
            self.users.push(peer.uid);
            if is_heard {
                self.connections.push(Connection { socket, peer });
            } else {
                forget(socket);
            }
        }
    }

    /// Reads all connections and passes on what came; `true`: a message had more files than any needs.
    fn read_all(&mut self) -> bool {
        let mut too_much = false;
        for connection in std::mem::take(&mut self.connections) {
            match read(&connection.socket) {
                Read::Nothing => self.connections.push(connection),
                Read::Over => forget(connection),
                Read::Message { bytes, files } => {
                    too_much |= files.len() > 1;
                    self.pass_on(&connection, &bytes, &files);
                    forget((connection, files));
                }
            }
        }
        too_much
    }

    /// What finds no room in the channel is dropped: the recorder is asked for more than it reads.
    fn pass_on(&self, connection: &Connection, bytes: &[u8], files: &[OwnedFd]) {
        let socket = connection.socket.as_fd();
        let sent = match (message(bytes, clock::now()), files) {
            (Some(Message::Snap { .. }), _) => send(self.channel, connection.peer, bytes, &[]),
            (Some(Message::Loops), [memory])
                if MarkedLoops::is_shared_memory(memory) && is_silent(socket) =>
            {
                send(self.channel, connection.peer, bytes, &[socket, memory.as_fd()])
            }
            _ => Ok(()),
        };
        let _ = sent;
    }

    fn wait(&self, most: Span) {
        let connections = self.connections.iter().map(|one| one.socket.as_fd());
        let all = connections.chain([self.listener.as_fd()]);
        let mut all: Vec<PollFd<'_>> = all.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN)).collect();
        let most = Timespec {
            tv_sec: i64::try_from(most.as_nanos() / 1_000_000_000).unwrap_or(0),
            tv_nsec: i64::try_from(most.as_nanos() % 1_000_000_000).unwrap_or(0),
        };
        let _ = poll(&mut all, Some(&most));
    }
}

fn read(connection: &OwnedFd) -> Read {
    let mut bytes = [0; LONGEST];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = match recvmsg(connection, &mut [IoSliceMut::new(&mut bytes)], &mut with, flags) {
        Ok(read) if read.bytes > 0 => read.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return Read::Nothing,
        Ok(_) | Err(_) => return Read::Over,
    };
    let bytes = bytes.iter().take(read).copied().collect();
    Read::Message { bytes, files: received(&mut with) }
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

fn send(channel: &OwnedFd, peer: Peer, bytes: &[u8], files: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let length = u16::try_from(bytes.len()).unwrap_or(0).to_ne_bytes();
    let mut record = [&peer.pid.to_ne_bytes()[..], &peer.uid.to_ne_bytes(), &length, bytes].concat();
    record.resize(RECORD, 0);
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = SendAncillaryBuffer::new(&mut room);
    if !files.is_empty() {
        with.push(SendAncillaryMessage::ScmRights(files));
    }
    sendmsg(channel, &[IoSlice::new(&record)], &mut with, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop)
}

/// The next message that was passed on.
pub(super) fn next_received(channel: &OwnedFd) -> Option<Received> {
    let mut record = [0; RECORD];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = recvmsg(channel, &mut [IoSliceMut::new(&mut record)], &mut with, flags).ok()?;
    let files = <[OwnedFd; 2]>::try_from(received(&mut with)).ok();
    let (who, said) = record.get(..read.bytes)?.split_at_checked(2 * WHO + LENGTH)?;
    let number = |place: usize| Some(u32::from_ne_bytes(who.get(place..place + WHO)?.try_into().ok()?));
    let length = u16::from_ne_bytes(who.get(2 * WHO..)?.try_into().ok()?);
    Some(Received {
        peer: Peer { pid: number(0)?, uid: number(WHO)? },
        bytes: said.get(..usize::from(length))?.to_vec(),
        files: files.map(|[connection, memory]| (connection, memory)),
    })
}

/// A pair of sockets: what is sent to the second is received from the first.
pub(super) fn channel() -> io::Result<[OwnedFd; 2]> {
    let (first, second) = std::os::unix::net::UnixStream::pair()?;
    Ok([first.into(), second.into()])
}

#[cfg(test)]
mod tests {
    use rustix::process::geteuid;

    use super::*;

    #[test]
    fn a_user_with_many_connections_keeps_nobody_else_from_being_heard() {
        let [crowd, other, own] = [65_531, 65_532, geteuid().as_raw()];
        let mut users = vec![crowd; OF_ONE_USER - 1];
        assert!(is_heard(crowd, &users));
        users.push(crowd);
        assert!(!is_heard(crowd, &users) && is_heard(other, &users));
        users = vec![own; CONNECTIONS];
        assert!(is_heard(own, &users) && is_heard(0, &users));
    }
}
