//! The thread that receives requests: it accepts connections, reads one message from each, checks the file that comes
//! with it, and passes valid ones on.
//!
//! A received file may be anything. Closing a socket with `SO_LINGER` blocks as long as its peer likes, and so does
//! closing a connection over which one was sent. This thread therefore has a file table of its own and closes
//! nothing: the end of the thread does, which does not block. The recorder never waits for this thread.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{MaybeUninit, forget};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use howlate_linux::clock;
use howlate_linux::socket::{self, Peer};
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
use super::message::{LONGEST, RequestMessage, message};

/// Maximum wait for connections that have not sent anything.
pub(super) const MAX_WAIT: Span = Span::from_secs(2);
/// Connections per receiver, and connections that are read of one user other than root and its own.
const CONNECTIONS: usize = 100;
const CONNECTIONS_OF_USER: usize = 32;
/// Maximum files of a message: `SCM_MAX_FD`. With a smaller buffer, the kernel would close the rest at once.
///
/// Source: <https://man7.org/linux/man-pages/man7/unix.7.html>
const FILES: usize = 253;
/// Bytes of a record in the channel: process id, user id, length, message.
const ID: usize = 4;
const LENGTH: usize = 2;
const RECORD: usize = 2 * ID + LENGTH + LONGEST;

/// A connection without a message so far.
struct PendingConnection {
    socket: OwnedFd,
    peer: Peer,
}

enum ReadResult {
    Nothing,
    Over,
    Message { bytes: Vec<u8>, files: Vec<OwnedFd> },
}

/// A message in the channel.
pub(super) struct ReceivedMessage {
    pub(super) peer: Peer,
    pub(super) bytes: Vec<u8>,
    /// The connection and the shared memory of loops.
    pub(super) files: Option<(OwnedFd, OwnedFd)>,
}

/// Accepts connections of `listener` and passes their messages to `channel`, until no silent connection is left.
pub(super) fn receive_requests(listener: &OwnedFd, channel: &OwnedFd) {
    let start = clock::now();
    let mut receiver = RequestReceiver { listener, channel, connections: Vec::new(), users: Vec::new() };
    loop {
        receiver.accept();
        let is_enough = receiver.read_all() || receiver.users.len() >= CONNECTIONS;
        let remaining = MAX_WAIT.minus(clock::now().since(start));
        if is_enough || receiver.connections.is_empty() || remaining.is_zero() {
            break;
        }
        receiver.wait(remaining);
    }
    // Closed by the end of this thread.
    forget(receiver.connections);
}

/// Whether a connection of this user is read, given the users of previous ones.
fn is_heard(uid: u32, users: &[u32]) -> bool {
    is_own(uid) || users.iter().filter(|other| **other == uid).count() < CONNECTIONS_OF_USER
}

struct RequestReceiver<'a> {
    listener: &'a OwnedFd,
    channel: &'a OwnedFd,
    connections: Vec<PendingConnection>,
    /// Users of all connections so far.
    users: Vec<u32>,
}

impl RequestReceiver<'_> {
    fn accept(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while self.users.len() < CONNECTIONS
            && let Ok(socket) = accept_with(self.listener, flags)
        {
            let Ok(peer) = socket::peer_of(&socket) else { return forget(socket) };
            let is_heard = is_heard(peer.uid, &self.users);
            self.users.push(peer.uid);
            if is_heard {
                self.connections.push(PendingConnection { socket, peer });
            } else {
                forget(socket);
            }
        }
    }

    /// Reads all connections and passes messages on; `true`: one had more files than any valid message.
    fn read_all(&mut self) -> bool {
        let mut too_much = false;
        for connection in std::mem::take(&mut self.connections) {
            match read(&connection.socket) {
                ReadResult::Nothing => self.connections.push(connection),
                ReadResult::Over => forget(connection),
                ReadResult::Message { bytes, files } => {
                    too_much |= files.len() > 1;
                    self.pass_on(&connection, &bytes, &files);
                    forget((connection, files));
                }
            }
        }
        too_much
    }

    /// Messages that do not fit into the channel are dropped: there are more requests than the recorder reads.
    fn pass_on(&self, connection: &PendingConnection, bytes: &[u8], files: &[OwnedFd]) {
        let socket = connection.socket.as_fd();
        let sent = match (message(bytes, clock::now()), files) {
            (Some(RequestMessage::Snap { .. }), _) => send(self.channel, connection.peer, bytes, &[]),
            (Some(RequestMessage::Loops), [memory])
                if MarkedLoops::is_shared_memory(memory) && is_silent(socket) =>
            {
                send(self.channel, connection.peer, bytes, &[socket, memory.as_fd()])
            }
            _ => Ok(()),
        };
        let _ = sent;
    }

    fn wait(&self, most: Span) {
        let connections = self.connections.iter().map(|connection| connection.socket.as_fd());
        let all = connections.chain([self.listener.as_fd()]);
        let mut all: Vec<PollFd<'_>> =
            all.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN)).collect();
        let most = Timespec {
            tv_sec: i64::try_from(most.as_nanos() / 1_000_000_000).unwrap_or(0),
            tv_nsec: i64::try_from(most.as_nanos() % 1_000_000_000).unwrap_or(0),
        };
        let _ = poll(&mut all, Some(&most));
    }
}

fn read(connection: &OwnedFd) -> ReadResult {
    let mut bytes = [0; LONGEST];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = match recvmsg(connection, &mut [IoSliceMut::new(&mut bytes)], &mut with, flags) {
        Ok(read) if read.bytes > 0 => read.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return ReadResult::Nothing,
        Ok(_) | Err(_) => return ReadResult::Over,
    };
    let bytes = bytes.iter().take(read).copied().collect();
    ReadResult::Message { bytes, files: received(&mut with) }
}

fn received(with: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let files = |ancillary| match ancillary {
        RecvAncillaryMessage::ScmRights(files) => files.collect(),
        _ => Vec::new(),
    };
    with.drain().flat_map(files).collect()
}

/// Whether the connection is empty; shuts down its receiving side, so that closing it does not block.
fn is_silent(connection: BorrowedFd<'_>) -> bool {
    if shutdown(connection, Shutdown::Read).is_err() || set_socket_passcred(connection, true).is_err() {
        return false;
    }
    // Credentials come with each message, even an empty one, but not with the end of the connection.
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES), ScmCredentials(1))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    let more = recvmsg(connection, &mut [IoSliceMut::new(&mut byte)], &mut with, RecvFlags::DONTWAIT);
    let ancillary: Vec<RecvAncillaryMessage<'_>> = with.drain().collect();
    let is_over = ancillary.is_empty() && more.is_ok_and(|read| read.bytes == 0);
    for message in ancillary {
        if let RecvAncillaryMessage::ScmRights(files) = message {
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

/// Next message in the channel.
pub(super) fn next_received(channel: &OwnedFd) -> Option<ReceivedMessage> {
    let mut record = [0; RECORD];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let read = recvmsg(channel, &mut [IoSliceMut::new(&mut record)], &mut with, flags).ok()?;
    let files = <[OwnedFd; 2]>::try_from(received(&mut with)).ok();
    let (who, message) = record.get(..read.bytes)?.split_at_checked(2 * ID + LENGTH)?;
    let number = |place: usize| Some(u32::from_ne_bytes(who.get(place..place + ID)?.try_into().ok()?));
    let length = u16::from_ne_bytes(who.get(2 * ID..)?.try_into().ok()?);
    Some(ReceivedMessage {
        peer: Peer { pid: number(0)?, uid: number(ID)? },
        bytes: message.get(..usize::from(length))?.to_vec(),
        files: files.map(|[connection, memory]| (connection, memory)),
    })
}

/// A pair of sockets: data sent to the second arrives at the first.
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
        let mut users = vec![crowd; CONNECTIONS_OF_USER - 1];
        assert!(is_heard(crowd, &users));
        users.push(crowd);
        assert!(!is_heard(crowd, &users) && is_heard(other, &users));
        users = vec![own; CONNECTIONS];
        assert!(is_heard(own, &users) && is_heard(0, &users));
    }
}
