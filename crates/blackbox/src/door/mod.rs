//! What programs ask of a recorder, over a socket at an agreed place: to keep what all CPUs have just done, or to read the memory
//! in which they leave the turns of their loops.
//!
//! Anybody may connect, and say anything: who it is, the kernel tells. Nothing is waited for, and of everything there is only so
//! much, for each user. The other end is in `loop/` and `python/howlate/loop.py`.

mod message;
mod place;
mod porter;

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
pub use self::place::NotListening;
use self::place::Place;
pub(crate) use self::place::place;
use self::porter::Handed;

/// After so long another porter is let to the door: the one there may be kept from leaving.
const KEPT_FROM_LEAVING: Span = Span::from_secs(10);

/// Whether programs of this user are believed as who records is: root's, and one's own.
pub(crate) fn is_own(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
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
    /// Ends with the program. Nothing comes over it any more.
    pub(crate) connection: OwnedFd,
    /// Memory for loops.
    pub(crate) memory: OwnedFd,
}

/// Open until it is dropped.
#[derive(Debug)]
pub(crate) struct Door {
    _place: Place,
    /// The socket, and where a porter hands on what it has heard.
    files: Arc<[OwnedFd; 2]>,
    inside: OwnedFd,
    /// When the last porter went there, and whether it is there.
    since: MonotonicTime,
    is_attended: Arc<AtomicBool>,
}

impl Door {
    /// Listens there. A socket to which nobody listens any more is replaced.
    pub(crate) fn open(path: &Path) -> Result<Self, NotListening> {
        let (place, socket) = Place::listen(path)?;
        let failed = |source: io::Error| NotListening::Io { place: path.to_owned(), source };
        let [inside, handed_on] = porter::inside().map_err(failed)?;
        Ok(Self {
            _place: place,
            files: Arc::new([socket, handed_on]),
            inside,
            since: MonotonicTime::default(),
            is_attended: Arc::new(AtomicBool::new(false)),
        })
    }

    /// What was asked for and has been heard since the last call.
    pub(crate) fn take(&mut self, now: MonotonicTime) -> Vec<Request> {
        let mut asked = Vec::new();
        while let Some(handed) = porter::receive(&self.inside) {
            asked.extend(request(handed, now));
        }
        asked
    }

    /// Somebody attends to who is there, if nobody does.
    pub(crate) fn attend(&mut self, now: MonotonicTime) {
        let is_attended =
            self.is_attended.load(Ordering::Acquire) && now.since(self.since) < KEPT_FROM_LEAVING;
        if is_attended || !self.is_somebody_there() {
            return;
        }
        self.since = now;
        self.is_attended = Arc::new(AtomicBool::new(true));
        let is_there = Arc::clone(&self.is_attended);
        let started = own_files::start("door", Arc::clone(&self.files), move |[door, inside]| {
            porter::let_in(door, inside);
            is_there.store(false, Ordering::Release);
        });
        if started.is_err() {
            self.is_attended.store(false, Ordering::Release);
        }
    }

    fn is_somebody_there(&self) -> bool {
        let [door, _] = self.files.as_ref();
        let mut door = [PollFd::from_borrowed_fd(door.as_fd(), PollFlags::IN)];
        poll(&mut door, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }
}

fn request(handed: Handed, now: MonotonicTime) -> Option<Request> {
    let Handed { peer, bytes, files } = handed;
    match message(&bytes, now)? {
        Message::Snap { at, thread, reason } => Some(Request::Snap(SnapRequest { peer, at, thread, reason })),
        Message::Loops => {
            let (connection, memory) = files?;
            Some(Request::Loops(HandedOver { peer, connection, memory }))
        }
    }
}

#[cfg(test)]
pub(crate) use self::tests::memory;
#[cfg(test)]
mod tests;
