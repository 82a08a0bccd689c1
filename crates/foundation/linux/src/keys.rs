//! The keys of a terminal, as they are pressed: two flags of termios(3), too little to build crossterm for.
//!
//! Source: <https://man7.org/linux/man-pages/man3/termios.3.html>

use std::io::{self, IsTerminal};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Keys of the terminal that this was started on; its own settings come back when this is dropped.
pub struct Keys {
    before: Option<Termios>,
}

impl Keys {
    /// None are taken.
    pub const fn none() -> Self {
        Self { before: None }
    }

    /// `tcsetattr(3)`: takes keys as they are pressed, if there is a terminal and it is ours to read.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/termios.3.html>
    pub fn listen() -> Self {
        let stdin = io::stdin();
        let is_ours = || tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp());
        let before = (stdin.is_terminal() && is_ours()).then(|| tcgetattr(&stdin).ok()).flatten();
        let taken = before.filter(|before| {
            let mut keys = before.clone();
            // Ctrl-C stays a signal.
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            keys.special_codes[SpecialCodeIndex::VMIN] = 1;
            keys.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(&stdin, OptionalActions::Now, &keys).is_ok()
        });
        Self { before: taken }
    }

    /// Whether there is anything to look for.
    pub const fn are_there(&self) -> bool {
        self.before.is_some()
    }

    /// `poll(2)`, `read(2)`: what was pressed since the last time; nothing is waited for.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/poll.2.html>
    pub fn pressed(&self) -> String {
        let stdin = io::stdin();
        let is_there = || {
            let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
            let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut asked, Some(&now)).is_ok_and(|ready| ready > 0)
        };
        if self.before.is_none() || !is_there() {
            return String::new();
        }
        let mut pressed = [0; 64];
        let count = rustix::io::read(&stdin, &mut pressed).unwrap_or(0);
        String::from_utf8_lossy(&pressed[..count]).into_owned()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // There is nobody to tell when the terminal is gone.
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
