//! The terminal that keys come from, and an eventfd that wakes its reader.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crossterm::event::{Event, poll, read};
use howlate_linux::clock;
use howlate_model::Span;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

/// Standard input, or the controlling terminal where standard input is none: the same choice as crossterm's.
pub(crate) enum Tty {
    Stdin(io::Stdin),
    Controlling(File),
}

impl Tty {
    pub(crate) fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Ok(Self::Stdin(stdin));
        }
        Ok(Self::Controlling(File::options().read(true).write(true).open("/dev/tty")?))
    }

    /// Waits for a key, the bell, or `timeout`.
    pub(crate) fn wait(&self, bell: &Bell, timeout: Span) {
        let mut fds = [PollFd::new(self, PollFlags::IN), PollFd::new(&bell.0, PollFlags::IN)];
        // A signal ends it early, such as the one for a new window size.
        let _earlier = rustix::event::poll(&mut fds, Some(&clock::timespec_for(timeout)));
        bell.clear();
    }

    /// Events since the last call, without waiting; `None` after a hang-up.
    pub(crate) fn events(&self) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        while events.len() < MOST_AT_ONCE {
            // crossterm would read the end of file forever.
            if self.has_hung_up() {
                return None;
            }
            match poll(std::time::Duration::ZERO) {
                Ok(true) => events.extend(read().ok()),
                _ => break,
            }
        }
        Some(events)
    }

    fn has_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        let timeout = clock::timespec_for(Span::ZERO);
        let hangup = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        rustix::event::poll(&mut fds, Some(&timeout)).is_ok() && fds[0].revents().intersects(hangup)
    }
}

/// Events per call; the rest waits for the next one.
const MOST_AT_ONCE: usize = 1_000;

impl AsFd for Tty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin(stdin) => stdin.as_fd(),
            Self::Controlling(file) => file.as_fd(),
        }
    }
}

/// `eventfd(2)` that wakes the reader of keys. Ringing never blocks.
///
/// Source: <https://man7.org/linux/man-pages/man2/eventfd.2.html>
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    pub(crate) fn ring(&self) {
        // Fails where the counter is full: it has been rung already.
        let _rung = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn clear(&self) {
        let _quiet = rustix::io::read(&self.0, &mut [0; 8]);
    }
}
