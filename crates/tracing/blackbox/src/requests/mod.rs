//! What programs ask of a recorder, over a socket at an agreed place: to keep what all CPUs have just done, or to read the memory
//! in which they leave the turns of their loops.
//!
//! Anybody may connect, and say anything: who it is, the kernel tells. Nothing is waited for, and of everything there is only so
//! much, for each user. The other end is in `loop/` and `python/howlate/loop.py`.

mod message;
mod receiver;
mod socket_file;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::own_files;
use howlate_linux::peer::Peer;
use howlate_model::{MonotonicTime, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::geteuid;

pub(crate) use self::message::checked as checked_message;
use self::message::{Message, message};
use self::receiver::Received;
pub use self::socket_file::NotListening;
use self::socket_file::SocketFile;
pub(crate) use self::socket_file::socket_path;

/// A receiver starts no sooner after the one before: who connects without end gets so much of a CPU, however often the recorder looks.
const APART: Span = Span::from_millis(200);
/// After so long another receiver is started: the one before may be kept from ending.
const KEPT_FROM_ENDING: Span = Span::from_secs(10);

/// Whether programs of this user are believed as who records is: root's, and one's own.
pub(crate) fn is_own(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

/// What a program asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Snap(SnapRequest),
    Loops(OfferedMemory),
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
pub(crate) struct OfferedMemory {
    pub(crate) peer: Peer,
    /// Ends with the program. Nothing comes over it any more.
    pub(crate) connection: OwnedFd,
    /// Memory for loops.
    pub(crate) memory: OwnedFd,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestSocket {
    _file: SocketFile,
    /// The listening socket, and the end of the channel that the receiver writes to.
    files: Arc<[OwnedFd; 2]>,
    channel: OwnedFd,
    /// When the last receiver was started, and whether it still runs.
    since: MonotonicTime,
    is_receiving: Arc<AtomicBool>,
}

impl RequestSocket {
    /// Listens there. A socket to which nobody listens any more is replaced.
    pub(crate) fn open(path: &Path) -> Result<Self, NotListening> {
        let (file, socket) = SocketFile::listen(path)?;
        let failed = |source: io::Error| NotListening::Io { place: path.to_owned(), source };
        let [channel, channel_end] = receiver::channel().map_err(failed)?;
        Ok(Self {
            _file: file,
            files: Arc::new([socket, channel_end]),
            channel,
            since: MonotonicTime::default(),
            is_receiving: Arc::new(AtomicBool::new(false)),
        })
    }

    /// The requests that were received since the last call.
    pub(crate) fn take(&mut self, now: MonotonicTime) -> Vec<Request> {
        let mut asked = Vec::new();
        while let Some(received) = receiver::next_received(&self.channel) {
            asked.extend(request(received, now));
        }
        asked
    }

    /// Starts a receiver if somebody has connected and none runs.
    pub(crate) fn receive(&mut self, now: MonotonicTime) {
        let before = now.since(self.since);
        let is_receiving = self.is_receiving.load(Ordering::Acquire) && before < KEPT_FROM_ENDING;
        if is_receiving || before < APART || !self.has_connections() {
            return;
        }
        self.since = now;
        self.is_receiving = Arc::new(AtomicBool::new(true));
        let is_running = Arc::clone(&self.is_receiving);
        let started = own_files::start("requests", Arc::clone(&self.files), move |[listener, channel]| {
            receiver::receive_requests(listener, channel);
            is_running.store(false, Ordering::Release);
        });
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

fn request(received: Received, now: MonotonicTime) -> Option<Request> {
    let Received { peer, bytes, files } = received;
    match message(&bytes, now)? {
        Message::Snap { at, thread, reason } => Some(Request::Snap(SnapRequest { peer, at, thread, reason })),
        Message::Loops => {
            let (connection, memory) = files?;
            Some(Request::Loops(OfferedMemory { peer, connection, memory }))
        }
    }
}

#[cfg(test)]
pub(crate) use self::tests::memory;
#[cfg(test)]
mod tests;
