//! Programs that are started, but held before their first instruction until somebody is ready to watch them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::{Builder, JoinHandle};

use rustix::pipe::{PipeFlags, pipe_with};

/// A process that waits before it becomes its program. It ends when this is dropped, or this process is killed.
#[derive(Debug)]
pub struct Held {
    pid: u32,
    gate: OwnedFd,
    starting: JoinHandle<io::Result<Child>>,
}

impl Held {
    /// Starts `command` up to execve(2). Once it is its program, it does not end with this process.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/execve.2.html>
    ///
    /// # Errors
    ///
    /// When no process, or no thread that starts it, can be had.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (its_pid, tells_pid) = pipe_with(PipeFlags::CLOEXEC)?;
        let (waits, gate) = pipe_with(PipeFlags::CLOEXEC)?;
        let gate_of_parent = gate.as_raw_fd();
        // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock, so it may run between fork
        // and exec of a process with threads.
        unsafe { command.pre_exec(move || wait_to_be_let_go(&tells_pid, &waits, gate_of_parent)) };
        // `Command` returns only when the program has begun.
        let starting = Builder::new().spawn(move || command.spawn())?;
        let mut pid = [0; 4];
        match File::from(its_pid).read_exact(&mut pid) {
            Ok(()) => Ok(Self { pid: u32::from_ne_bytes(pid), gate, starting }),
            Err(error) => Err(started(starting).err().unwrap_or(error)),
        }
    }

    /// Its id, which the program will have.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it become its program: `execve(2)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/execve.2.html>
    ///
    /// # Errors
    ///
    /// When that cannot be started.
    pub fn let_go(self) -> io::Result<Child> {
        rustix::io::write(&self.gate, &[1])?;
        started(self.starting)
    }
}

fn started(starting: JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    starting.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs has ended")))
}

/// How it ends when nobody lets it go.
const NOT_LET_GO: i32 = 1;

/// What the child does before it becomes the program.
fn wait_to_be_let_go(tells_pid: &OwnedFd, waits: &OwnedFd, gate_of_parent: RawFd) -> io::Result<()> {
    // SAFETY: this is the child's copy, which nobody else in the child uses; with it open, the end of the parent would
    // not be seen.
    unsafe { rustix::io::close(gate_of_parent) };
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    rustix::io::write(tells_pid, &pid.to_ne_bytes())?;
    match rustix::io::retry_on_intr(|| rustix::io::read(waits, &mut [0; 1]))? {
        // SAFETY: it ends this process and nothing else. An error would have to be told to a parent that may be gone, of
        // which the standard library would complain.
        0 => unsafe { libc::_exit(NOT_LET_GO) },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_program_begins_when_it_is_let_go() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$"]).stdout(Stdio::piped());
        let held = Held::start(command).unwrap();
        let pid = held.pid();
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        assert_ne!(name().trim(), "sh", "it is not its program yet");
        let output = held.let_go().unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), pid.to_string());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let held = Held::start(Command::new("/no/such/program")).unwrap();
        assert_eq!(held.let_go().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn one_that_nobody_lets_go_ends() {
        let Held { gate, starting, .. } = Held::start(Command::new("true")).unwrap();
        drop(gate);
        assert_eq!(started(starting).unwrap().wait().unwrap().code(), Some(NOT_LET_GO));
    }
}
