//! Programs started with scheduling settings, as `chrt`, `nice` and `taskset` do.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use howlate_model::{CpuSet, Policy, Span, Usage};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Rlimit, WaitId, WaitIdOptions, setrlimit, waitid};

use crate::parent::die_with;
use crate::{sched, thread, usage};

/// Settings of a program from its first instruction on.
#[derive(Clone, Debug)]
pub struct SpawnSettings {
    /// Set by `sched_setattr(2)`.
    pub policy: Policy,
    /// Timer slack; `None`: as inherited.
    pub slack: Option<Span>,
    /// Affinity; `None`: as inherited.
    pub cpus: Option<CpuSet>,
}

/// Which [`SpawnSettings`] the kernel accepted.
#[derive(Debug)]
pub struct SpawnReport {
    /// Result of `sched_setattr(2)`.
    pub policy: io::Result<()>,
    /// Result of `prctl(PR_SET_TIMERSLACK)`.
    pub slack: io::Result<()>,
    /// Result of `sched_setaffinity(2)`.
    pub cpus: io::Result<()>,
    /// `prctl(PR_GET_TIMERSLACK)`, which a thread can only read of itself without privilege.
    pub slack_in_force: Span,
}

/// `RLIMIT_RTTIME` of a real-time program, in microseconds: the kernel kills it after this much CPU time without a blocking
/// call, so that a program that spins does not take over the machine. No program that sleeps comes near.
const MOST_REALTIME_CPU_US: u64 = 10_000_000;

/// Starts `command` in a process group of its own, under `settings`, which are applied between
/// fork(2) and execve(2). The program dies with the calling thread.
///
/// # Errors
///
/// When the program cannot be started. A refused setting is no error: see [`SpawnReport`].
///
/// Source: <https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>
pub fn spawn(mut command: Command, settings: SpawnSettings) -> io::Result<(Child, SpawnReport)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let parent = rustix::process::getpid();
    command.process_group(0);
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock, so it may
    // run between fork and exec of a process with threads.
    unsafe { command.pre_exec(move || prepare(&settings, parent, &writer)) };
    let child = command.spawn();
    // Drops the closure, and with it this process's write end of the pipe.
    drop(command);
    let applied = read_report(reader);
    Ok((child?, applied?))
}

/// Starts `command` in a process group of its own, which Ctrl-C does not reach. It dies with the calling thread.
///
/// # Errors
///
/// When the program cannot be started.
///
/// Source: <https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>
pub fn spawn_bound(command: &mut Command) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    command.process_group(0);
    // SAFETY: as above, the closure makes system calls only.
    unsafe { command.pre_exec(move || die_with(parent)) };
    command.spawn()
}

/// Starts `command` in a process group of its own, under `policy` where that is not refused; `None`: as inherited.
///
/// # Errors
///
/// When the program cannot be started.
pub fn spawn_under(command: &mut Command, policy: Option<Policy>) -> io::Result<Child> {
    command.process_group(0);
    let apply = move || {
        drop(policy.map(|policy| sched::set_policy(sched::THIS_THREAD, policy)));
        Ok(())
    };
    // SAFETY: as above, the closure makes system calls only.
    unsafe { command.pre_exec(apply) };
    command.spawn()
}

/// Runs in the child between fork(2) and execve(2).
fn prepare(settings: &SpawnSettings, parent: Pid, report: &OwnedFd) -> io::Result<()> {
    die_with(parent)?;
    if settings.policy.is_realtime() {
        let limit = Some(MOST_REALTIME_CPU_US);
        // Refused only where the limit is lower already.
        let _ = setrlimit(Resource::Rttime, Rlimit { current: limit, maximum: limit });
    }
    let cpus = settings.cpus.as_ref().map_or(Ok(()), sched::bind);
    let slack = settings.slack.map_or(Ok(()), thread::set_timer_slack);
    let policy = sched::set_policy(sched::THIS_THREAD, settings.policy);
    let in_force = thread::timer_slack()?.as_nanos();
    let words: [u64; REPORT_WORDS] = [errno(&policy), errno(&slack), errno(&cpus), in_force];
    for word in words {
        rustix::io::write(report, &word.to_le_bytes())?;
    }
    Ok(())
}

/// The errors of policy, slack and affinity, then the slack in force.
const REPORT_WORDS: usize = 4;

fn errno(result: &io::Result<()>) -> u64 {
    let number = result.as_ref().err().map(|error| error.raw_os_error().unwrap_or(libc::EINVAL));
    number.map_or(0, |number| u64::from(number.unsigned_abs()))
}

fn read_report(reader: OwnedFd) -> io::Result<SpawnReport> {
    let mut bytes = Vec::with_capacity(REPORT_WORDS * 8);
    File::from(reader).read_to_end(&mut bytes)?;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
    let result = |place: usize| match words.get(place).and_then(|number| i32::try_from(*number).ok()) {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    };
    let slack_in_force = Span::from_nanos(words.get(REPORT_WORDS - 1).copied().unwrap_or(0));
    Ok(SpawnReport { policy: result(0), slack: result(1), cpus: result(2), slack_in_force })
}

/// Whether process `pid`, a child, has ended; it can still be signalled and must be reaped.
///
/// # Errors
///
/// `ECHILD` when it is no child, or was reaped.
///
/// Source: <https://man7.org/linux/man-pages/man2/waitid.2.html>
pub fn has_ended(pid: Pid) -> io::Result<bool> {
    let flags = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(waitid(WaitId::Pid(pid), flags)?.is_some())
}

/// `wait4(pid, …)`: waits for a child's end; returns its status, and the resources that it and the children
/// it waited for used. `elapsed` stays 0.
///
/// # Errors
///
/// `ECHILD` when it is no child, or was reaped.
///
/// Source: <https://man7.org/linux/man-pages/man2/wait4.2.html>
pub fn reap(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    let pid = pid.as_raw_nonzero().get();
    loop {
        // SAFETY: `status` and `rusage` have room for what the call writes, and outlive it.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, rusage.as_mut_ptr()) };
        if reaped == pid {
            // SAFETY: zeroed is a valid rusage, and the call has filled it.
            let rusage = unsafe { rusage.assume_init() };
            return Ok((ExitStatus::from_raw(status), usage::from_rusage(&rusage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::Signal;
    use std::process::Stdio;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::null());
        command
    }

    fn settings_with(policy: &str) -> SpawnSettings {
        let cpu = sched::affinity().unwrap().iter().next().unwrap();
        SpawnSettings {
            policy: policy.parse().unwrap(),
            slack: Some(Span::from_nanos(12_345)),
            cpus: Some(CpuSet::from_iter([cpu])),
        }
    }

    #[test]
    fn a_program_starts_with_its_settings() {
        for policy in ["batch", "idle", "nice:19"] {
            let (child, applied) = spawn(sleeper(), settings_with(policy)).unwrap();
            let pid = Pid::from_child(&child);
            assert_eq!(sched::policy(child.id()).unwrap().to_string(), policy);
            assert!(applied.policy.is_ok() && applied.slack.is_ok() && applied.cpus.is_ok(), "{applied:?}");
            assert_eq!(applied.slack_in_force, Span::from_nanos(12_345));
            assert_eq!(sched::affinity_of(child.id()).unwrap().len(), 1);
            assert!(!has_ended(pid).unwrap());
            rustix::process::kill_process_group(pid, Signal::KILL).unwrap();
            let (status, usage) = reap(pid).unwrap();
            assert_eq!(status.signal(), Some(libc::SIGKILL));
            assert!(usage.minor_faults > 0);
        }
    }

    #[test]
    fn a_refused_setting_is_reported_and_the_program_runs() {
        let settings = SpawnSettings { cpus: Some(CpuSet::from_iter([1_000])), ..settings_with("other") };
        let (child, applied) = spawn(sleeper(), settings).unwrap();
        assert_eq!(applied.cpus.unwrap_err().raw_os_error(), Some(libc::EINVAL));
        let pid = Pid::from_child(&child);
        rustix::process::kill_process_group(pid, Signal::KILL).unwrap();
        reap(pid).unwrap();
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = spawn(Command::new("/no/such/program"), settings_with("other")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
