//! Key presses of the terminal without line buffering: two flags of termios(3), too little to build crossterm for.
//!
//! Source: <https://man7.org/linux/man-pages/man3/termios.3.html>

use std::io::{self, IsTerminal};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// Key presses of the controlling terminal, whose settings are restored on drop.
pub struct TerminalKeys {
    before: Option<Termios>,
}

impl TerminalKeys {
    /// Reads no keys.
    pub const fn none() -> Self {
        Self { before: None }
    }

    /// `tcsetattr(3)`: disables line buffering and echo, if standard input is a terminal and this is its foreground process group.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/termios.3.html>
    pub fn listen() -> Self {
        let stdin = io::stdin();
        let is_foreground = || tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp());
        let before = (stdin.is_terminal() && is_foreground()).then(|| tcgetattr(&stdin).ok()).flatten();
        let changed = before.filter(|before| {
            let mut keys = before.clone();
            // Ctrl-C stays a signal.
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            keys.special_codes[SpecialCodeIndex::VMIN] = 1;
            keys.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(&stdin, OptionalActions::Now, &keys).is_ok()
        });
        Self { before: changed }
    }

    pub const fn is_listening(&self) -> bool {
        self.before.is_some()
    }

    /// `poll(2)`, `read(2)`: keys pressed since the last call, without waiting.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/poll.2.html>
    pub fn read_pressed(&self) -> String {
        let stdin = io::stdin();
        let is_readable = || {
            let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
            let no_wait = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut polled, Some(&no_wait)).is_ok_and(|ready| ready > 0)
        };
        if self.before.is_none() || !is_readable() {
            return String::new();
        }
        let mut pressed = [0; 64];
        let count = rustix::io::read(&stdin, &mut pressed).unwrap_or(0);
        String::from_utf8_lossy(&pressed[..count]).into_owned()
    }
}

impl Drop for TerminalKeys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Fails when the terminal is closed, and then nothing needs restoring.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
