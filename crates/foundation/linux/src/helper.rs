//! Helper processes: this program, started again in a role of its own.
//!
//! Here is how they are started and how they end; what they do stays with the crate that needs them.

use std::ffi::CStr;
use std::io::{self, stdin};
use std::os::unix::process::CommandExt;
use std::process::Command;

use howlate_model::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;

use crate::clock::timespec_for;
use crate::parent::die_with;
use crate::signal::unignore_those_of_the_c_library;

/// This program, even when its file was replaced meanwhile. Source: proc_pid_exe(5).
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A helper process: its name, its end, its work.
#[derive(Clone, Copy, Debug)]
pub struct Helper {
    /// What it is to be: the program's first argument.
    pub role: &'static str,
    /// What `ps` and `top` call it, at most 15 bytes. Started through `/proc/self/exe`, it would be `exe`.
    pub name: &'static CStr,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// What it does, given the arguments that it was started with.
    pub serve: fn(&[String]) -> io::Result<()>,
}

/// When a helper process ends, however the process that started it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// It is killed by the kernel with the thread that started it: it has nothing to put in order.
    OfParent,
    /// It puts things in order when its standard input ends, whose other side the kernel closes with the parent.
    OfInput,
}

impl Helper {
    /// What starts it, with `arguments`.
    pub fn command(&self, arguments: impl IntoIterator<Item = String>) -> Command {
        let mut command = Command::new(THIS_PROGRAM);
        command.arg(self.role).arg(std::process::id().to_string()).args(arguments);
        // Ctrl-C goes to the whole group; this process decides when its helpers end.
        command.process_group(0);
        command
    }

    /// Does the helper's work if this program was started as this helper; `None` otherwise.
    pub fn serve_if_asked(&self) -> Option<io::Result<()>> {
        // Only helpers have Unicode for certain; a person may type anything.
        let words = std::env::args_os().skip(1);
        let arguments: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let [role, parent, rest @ ..] = arguments.as_slice() else { return None };
        (role == self.role).then(|| self.bound_to(parent).and_then(|()| (self.serve)(rest)))
    }

    fn bound_to(&self, parent: &str) -> io::Result<()> {
        let parent = parent.parse().ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        rustix::thread::set_name(self.name)?;
        unignore_those_of_the_c_library();
        match self.lifetime {
            Lifetime::OfParent => die_with(parent),
            Lifetime::OfInput => Ok(()),
        }
    }
}

/// `poll(2)`: whether the standard input of this helper ends within `patience`. Nothing is ever sent through it.
///
/// Source: <https://man7.org/linux/man-pages/man2/poll.2.html>
///
/// # Errors
///
/// `Interrupted` when a handler of a signal ran.
pub fn input_ends_within(patience: Span) -> io::Result<bool> {
    let stdin = stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    Ok(poll(&mut polled, Some(&timespec_for(patience)))? > 0)
}
