//! Requests of programs, over a socket at a fixed path: write the timelines of all CPUs, or read the turns
//! of loops from shared memory.
//!
//! Any user may connect and send anything; the kernel provides the identity of the peer. Nothing blocks, and
//! everything is limited per user. The clients are in `loop/` and `python/howlate/loop.py`.

mod message;
mod receiver;
mod socket_file;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::file_table;
use howlate_linux::socket::Peer;
use howlate_model::{MonotonicTime, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::geteuid;

pub(crate) use self::message::check as check_message;
use self::message::{RequestMessage, message};
use self::receiver::ReceivedMessage;
pub use self::socket_file::ListenError;
use self::socket_file::SocketFile;
pub(crate) use self::socket_file::socket_path;

/// Minimum interval of receivers, which limits the CPU time that clients can cause.
const APART: Span = Span::from_millis(200);
/// Another receiver is started after this time, as closing a file may block the previous one.
const KEPT_FROM_ENDING: Span = Span::from_secs(10);

/// Whether programs of this user are trusted: root's, and this user's own.
pub(crate) fn is_own(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// A request of a program.
#[derive(Debug)]
pub(crate) enum Request {
    Snap(SnapRequest),
    Loops(OfferedMemory),
}

/// Write the timelines of all CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapRequest {
    pub(crate) peer: Peer,
    /// `None` if the program's time is impossible.
    pub(crate) at: Option<MonotonicTime>,
    /// Name of the sending thread.
    pub(crate) thread: String,
    pub(crate) reason: Option<String>,
}

/// Read the turns of a program's loops.
#[derive(Debug)]
pub(crate) struct OfferedMemory {
    pub(crate) peer: Peer,
    /// Signals the end of the program; carries no more messages.
    pub(crate) connection: OwnedFd,
    /// Shared memory of the loops.
    pub(crate) memory: OwnedFd,
}

/// The listening socket; dropping it removes its file.
#[derive(Debug)]
pub(crate) struct RequestSocket {
    _file: SocketFile,
    /// The listening socket, and the receiver's end of the channel.
    files: Arc<[OwnedFd; 2]>,
    channel: OwnedFd,
    /// Start of the last receiver, and whether it still runs.
    since: MonotonicTime,
    is_receiving: Arc<AtomicBool>,
}

impl RequestSocket {
    /// Listens at `path`; replaces an abandoned socket.
    pub(crate) fn open(path: &Path) -> Result<Self, ListenError> {
        let (file, socket) = SocketFile::listen(path)?;
        let failed = |source: io::Error| ListenError::Io { place: path.to_owned(), source };
        let [channel, channel_end] = receiver::channel().map_err(failed)?;
        Ok(Self {
            _file: file,
            files: Arc::new([socket, channel_end]),
            channel,
            since: MonotonicTime::default(),
            is_receiving: Arc::new(AtomicBool::new(false)),
        })
    }

    /// Requests received since the last call.
    pub(crate) fn take(&mut self, now: MonotonicTime) -> Vec<Request> {
        let mut requests = Vec::new();
        while let Some(received) = receiver::next_received(&self.channel) {
            requests.extend(request(received, now));
        }
        requests
    }

    /// Starts a receiver if there are connections and none runs.
    pub(crate) fn receive(&mut self, now: MonotonicTime) {
        let before = now.since(self.since);
        let is_receiving = self.is_receiving.load(Ordering::Acquire) && before < KEPT_FROM_ENDING;
        if is_receiving || before < APART || !self.has_connections() {
            return;
        }
        self.since = now;
        self.is_receiving = Arc::new(AtomicBool::new(true));
        let is_running = Arc::clone(&self.is_receiving);
        let started = file_table::spawn_with_own_table(
            "requests",
            Arc::clone(&self.files),
            move |[listener, channel]| {
                receiver::receive_requests(listener, channel);
                is_running.store(false, Ordering::Release);
            },
        );
        if started.is_err() {
            self.is_receiving.store(false, Ordering::Release);
        }
    }

    fn has_connections(&self) -> bool {
        let [listener, _] = self.files.as_ref();
        let mut polled = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }
}

fn request(received: ReceivedMessage, now: MonotonicTime) -> Option<Request> {
    let ReceivedMessage { peer, bytes, files } = received;
    match message(&bytes, now)? {
        RequestMessage::Snap { at, thread, reason } => {
            Some(Request::Snap(SnapRequest { peer, at, thread, reason }))
        }
        RequestMessage::Loops => {
            let (connection, memory) = files?;
            Some(Request::Loops(OfferedMemory { peer, connection, memory }))
        }
    }
}

#[cfg(test)]
pub(crate) use self::tests::memory;
#[cfg(test)]
mod tests;
