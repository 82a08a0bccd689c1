//! Where keys come from, and a bell that wakes whoever waits for them.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crossterm::event::{Event, poll, read};
use howlate_linux::clock;
use howlate_model::Span;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

/// The terminal that keys come from: standard input, or where that is something else, the one that controls this process. It is
/// the same choice as crossterm makes.
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

    /// Waits until a key comes, somebody rings, or so much time has passed.
    pub(crate) fn wait(&self, bell: &Bell, most: Span) {
        let mut asked = [PollFd::new(self, PollFlags::IN), PollFd::new(&bell.0, PollFlags::IN)];
        // A signal makes it come earlier, as a new size of the window does.
        let _earlier = rustix::event::poll(&mut asked, Some(&clock::timespec_for(most)));
        bell.quieten();
    }

    /// What came since the last time; nothing is waited for. `None` where the terminal has hung up.
    pub(crate) fn events(&self) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        while events.len() < MOST_AT_ONCE {
            // crossterm would read the end of a terminal over and over.
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
        let mut asked = [PollFd::new(self, PollFlags::IN)];
        let now = clock::timespec_for(Span::ZERO);
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        rustix::event::poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().intersects(gone)
    }
}

/// More than this was not typed; the rest comes with the next look.
const MOST_AT_ONCE: usize = 1_000;

impl AsFd for Tty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin(stdin) => stdin.as_fd(),
            Self::Controlling(file) => file.as_fd(),
        }
    }
}

/// `eventfd(2)`: wakes whoever waits for keys. Whoever rings never waits.
///
/// Source: <https://man7.org/linux/man-pages/man2/eventfd.2.html>
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    pub(crate) fn ring(&self) {
        // Where it is full, it has been rung already.
        let _rung = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn quieten(&self) {
        let _quiet = rustix::io::read(&self.0, &mut [0; 8]);
    }
}
