//! Helper processes: this program, executed again in another role.
//!
//! This module starts and ends them; their work is implemented by the crate that needs it.

use std::ffi::CStr;
use std::io::{self, stdin};
use std::os::unix::process::CommandExt;
use std::process::Command;

use howlate_model::Span;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;

use crate::clock::timespec_for;
use crate::parent::die_with;
use crate::signal::reset_libc_signals;

/// This program, even when its file has been replaced. Source: proc_pid_exe(5).
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A role in which this program can be started as a helper process.
#[derive(Clone, Copy, Debug)]
pub struct Helper {
    /// The program's first argument, which selects the role.
    pub role: &'static str,
    /// Thread name (`comm`), at most 15 bytes. Started through `/proc/self/exe`, it would be `exe`.
    pub name: &'static CStr,
    pub lifetime: Lifetime,
    /// The helper's work; receives its arguments.
    pub serve: fn(&[String]) -> io::Result<()>,
}

/// What ends a helper process, however the process that started it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The kernel kills it with the thread that started it: it has nothing to clean up.
    OfParent,
    /// It cleans up when its standard input ends, whose other end the kernel closes with the parent.
    OfInput,
}

impl Helper {
    /// The command that starts it with `arguments`.
    pub fn command(&self, arguments: impl IntoIterator<Item = String>) -> Command {
        let mut command = Command::new(THIS_PROGRAM);
        command.arg(self.role).arg(std::process::id().to_string()).args(arguments);
        // Ctrl-C goes to the whole group; this process decides when its helpers end.
        command.process_group(0);
        command
    }

    /// Does the helper's work; `None` if this program was not started in this role.
    pub fn serve_if_started_as(&self) -> Option<io::Result<()>> {
        // A user may pass arguments that are not UTF-8; those of helpers always are.
        let os_arguments = std::env::args_os().skip(1);
        let arguments: Vec<String> =
            os_arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
        let [role, parent, rest @ ..] = arguments.as_slice() else { return None };
        (role == self.role).then(|| self.bind_to(parent).and_then(|()| (self.serve)(rest)))
    }

    fn bind_to(&self, parent: &str) -> io::Result<()> {
        let parent = parent.parse().ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        rustix::thread::set_name(self.name)?;
        reset_libc_signals();
        match self.lifetime {
            Lifetime::OfParent => die_with(parent),
            Lifetime::OfInput => Ok(()),
        }
    }
}

/// `poll(2)`: whether the standard input of this helper ends within `timeout`. Nothing is ever sent through it.
///
/// Source: <https://man7.org/linux/man-pages/man2/poll.2.html>
///
/// # Errors
///
/// `Interrupted` when a handler of a signal ran.
pub fn input_ends_within(timeout: Span) -> io::Result<bool> {
    let stdin = stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    Ok(poll(&mut polled, Some(&timespec_for(timeout)))? > 0)
}
