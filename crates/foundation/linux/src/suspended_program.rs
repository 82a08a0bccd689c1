//! Programs that are join_spawner but suspended before execve(2), until tracing is ready.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::{Builder, JoinHandle};

use rustix::pipe::{PipeFlags, pipe_with};

/// A child that waits before execve(2). It ends when this is dropped or this process is killed.
#[derive(Debug)]
pub struct SuspendedProgram {
    pid: u32,
    gate: OwnedFd,
    spawner: JoinHandle<io::Result<Child>>,
}

impl SuspendedProgram {
    /// Starts `command` up to execve(2). After execve(2) it outlives this process.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/execve.2.html>
    ///
    /// # Errors
    ///
    /// When no process, or no thread to start it, can be created.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let (pid_reader, pid_writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let (gate_reader, gate) = pipe_with(PipeFlags::CLOEXEC)?;
        let gate_of_parent = gate.as_raw_fd();
        // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock, so it may run between fork
        // and exec of a process with threads.
        unsafe { command.pre_exec(move || wait_for_release(&pid_writer, &gate_reader, gate_of_parent)) };
        // `spawn` returns only after execve(2).
        let spawner = Builder::new().spawn(move || command.spawn())?;
        let mut pid = [0; 4];
        match File::from(pid_reader).read_exact(&mut pid) {
            Ok(()) => Ok(Self { pid: u32::from_ne_bytes(pid), gate, spawner }),
            Err(error) => Err(join_spawner(spawner).err().unwrap_or(error)),
        }
    }

    /// Stays the same after execve(2).
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it proceed to `execve(2)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/execve.2.html>
    ///
    /// # Errors
    ///
    /// When the program cannot be join_spawner.
    pub fn release(self) -> io::Result<Child> {
        rustix::io::write(&self.gate, &[1])?;
        join_spawner(self.spawner)
    }
}

fn join_spawner(spawner: JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    spawner.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs has ended")))
}

/// Exit status without a release.
const NOT_RELEASED: i32 = 1;

/// Runs in the child before execve(2).
fn wait_for_release(pid_writer: &OwnedFd, gate_reader: &OwnedFd, gate_of_parent: RawFd) -> io::Result<()> {
    // SAFETY: this is the child's copy, which is not used elsewhere in the child; with it open, the child would not see the
    // pipe close when the parent ends.
    unsafe { rustix::io::close(gate_of_parent) };
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    rustix::io::write(pid_writer, &pid.to_ne_bytes())?;
    match rustix::io::retry_on_intr(|| rustix::io::read(gate_reader, &mut [0; 1]))? {
        // SAFETY: it ends this process and nothing else. Returning an error would make the standard library write it to a
        // parent that may have ended, and complain about the failure.
        0 => unsafe { libc::_exit(NOT_RELEASED) },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_program_starts_when_it_is_released() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$"]).stdout(Stdio::piped());
        let suspended = SuspendedProgram::start(command).unwrap();
        let pid = suspended.pid();
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        assert_ne!(name().trim(), "sh", "it has not called execve yet");
        let output = suspended.release().unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), pid.to_string());
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let suspended = SuspendedProgram::start(Command::new("/no/such/program")).unwrap();
        assert_eq!(suspended.release().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_that_is_never_released_ends() {
        let SuspendedProgram { gate, spawner, .. } = SuspendedProgram::start(Command::new("true")).unwrap();
        drop(gate);
        assert_eq!(join_spawner(spawner).unwrap().wait().unwrap().code(), Some(NOT_RELEASED));
    }
}
