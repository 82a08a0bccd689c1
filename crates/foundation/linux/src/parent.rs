//! `PR_SET_PDEATHSIG`: children that must not outlive the thread that started them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Makes the kernel kill the program that `command` starts when the calling thread ends.
///
/// The kernel clears the setting where execve(2) grants capabilities; this project's helpers
/// set it again themselves, see [`crate::helper`].
///
/// Source: <https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>
pub fn kill_with_this_thread(command: &mut Command) {
    kill_with(command, getpid());
}

fn kill_with(command: &mut Command, parent: Pid) {
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock, so it may
    // run between fork and exec of a process with threads.
    unsafe { command.pre_exec(move || die_with(parent)) };
}

/// `prctl(PR_SET_PDEATHSIG, SIGKILL)` for the calling process, which `parent` started.
///
/// Source: <https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>
///
/// # Errors
///
/// `ESRCH` when the parent ended before the setting was in force.
pub fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("1000");
            kill_with_this_thread(&mut command);
            command.spawn().unwrap()
        });
        // Waiting would not end if the child lived on.
        let status = child.join().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_whose_parent_has_ended_does_not_start() {
        let mut command = Command::new("true");
        // As if the parent had ended, and the child had been given to another process.
        kill_with(&mut command, Pid::INIT);
        assert_eq!(command.spawn().unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
