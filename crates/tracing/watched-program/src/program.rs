//! Starts a program in order to watch it, and ends it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use howlate_linux::clock;
use howlate_linux::suspended_program::SuspendedProgram;
use howlate_model::Span;
use howlate_procfs::Root;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::WatchError;
/// Limit of its real-time threads, read when it ended.
use crate::realtime_limit::{RealtimeLimit, describe_signal, signal_of_status};

/// How long a program has to end after SIGTERM.
const PATIENCE: Span = Span::from_secs(5);
const LOOK_EVERY: Span = Span::from_millis(20);

/// A program that was started: held before its first instruction, or running.
#[derive(Debug)]
pub struct StartedProgram {
    name: String,
    held: Option<SuspendedProgram>,
    child: Option<Child>,
    /// Limit of its real-time threads, read when it ended.
    realtime_limit: RealtimeLimit,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramExit {
    /// On its own, with this status and under this limit.
    ByItself(ExitStatus, RealtimeLimit),
    /// After howlate's SIGTERM.
    Requested,
}

impl StartedProgram {
    /// Starts the program up to its first instruction. It shares the terminal, and reads what is typed there.
    ///
    /// # Errors
    ///
    /// When no process can be started.
    pub fn hold(command_line: &[OsString], prepare: impl FnOnce(&mut Command)) -> Result<Self, WatchError> {
        let (program, arguments) =
            command_line.split_first().map_or((OsString::new(), &[][..]), |(a, b)| (a.clone(), b));
        let name = program.to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.args(arguments);
        prepare(&mut command);
        let held = SuspendedProgram::start(command)
            .map_err(|source| WatchError::Start { program: name.clone(), source })?;
        Ok(Self { name, held: Some(held), child: None, realtime_limit: RealtimeLimit::default() })
    }

    /// 0 when it does not run.
    pub fn pid(&self) -> u32 {
        self.held.as_ref().map(SuspendedProgram::pid).or(self.child.as_ref().map(Child::id)).unwrap_or(0)
    }

    /// Lets it run.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn release(&mut self) -> Result<(), WatchError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let failed = |source| WatchError::Start { program: self.name.clone(), source };
        self.child = Some(held.release().map_err(failed)?);
        Ok(())
    }

    /// Exit status, once it has ended.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        // `/proc/PID/limits` exists until the process is reaped.
        if has_ended(child) {
            self.realtime_limit =
                RealtimeLimit::read(&Root::live(), child.id()).unwrap_or(self.realtime_limit);
        }
        child.try_wait().ok().flatten()
    }

    /// Ends it with SIGTERM, and with SIGKILL after five seconds.
    pub fn stop(&mut self) -> Option<ProgramExit> {
        if let Some(status) = self.exit_status() {
            return Some(ProgramExit::ByItself(status, self.realtime_limit));
        }
        let child = self.child.as_mut()?;
        // It may just have ended.
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
        if !ends_within(child, PATIENCE) {
            drop(child.kill());
            drop(child.wait());
        }
        Some(ProgramExit::Requested)
    }

    /// First word of its command line.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether a child has ended, without reaping it.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(Some(_)))
}

/// If a shell's exit status stands for a signal of its child: which.
fn signal_of_child(code: i32, limit: RealtimeLimit) -> String {
    let Some(signal) = signal_of_status(code) else { return String::new() };
    let unknown = (signal == Signal::XCPU.as_raw()).then(|| "by its RLIMIT_RTTIME or RLIMIT_CPU".to_owned());
    let reason = limit.explain(signal).or(unknown).map_or_else(String::new, |reason| format!(": {reason}"));
    format!(", as a shell tells of a program that {} ended{reason}", describe_signal(signal))
}

/// Whether it ended within `patience`.
fn ends_within(child: &mut Child, patience: Span) -> bool {
    let until = clock::now().plus(patience);
    loop {
        match child.try_wait() {
            Ok(None) if clock::now() < until => drop(clock::sleep_for(LOOK_EVERY)),
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

impl ProgramExit {
    /// Why it failed; `None` if it did not.
    pub fn failure(self) -> Option<String> {
        let Self::ByItself(status, limit) = self else { return None };
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("ended with status {code}{}", signal_of_child(code, limit))),
            (None, Some(signal)) => {
                let reason = limit.explain(signal).map_or_else(String::new, |reason| format!(": {reason}"));
                Some(format!("was ended by {}{reason}", describe_signal(signal)))
            }
            (None, None) => Some("ended in an unknown way".to_owned()),
        }
    }

    /// What to do about the failure, if known.
    pub fn hint(self) -> Option<String> {
        let Self::ByItself(status, limit) = self else { return None };
        let signal = status.signal().or_else(|| status.code().and_then(signal_of_status))?;
        limit.explain(signal)?;
        Some(
            "have the thread sleep or wait before it has computed that long, or raise the limit for the program: `prlimit \
             --rttime=unlimited PROGRAM`, or `LimitRTTIME=infinity` in its unit; one that sets the limit itself (setrlimit(2), as rtkit \
             asks) has to set a longer one"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> StartedProgram {
        let command_line: Vec<OsString> = ["sh", "-c", script].map(OsString::from).to_vec();
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        };
        let mut program = StartedProgram::hold(&command_line, quiet).unwrap();
        assert!(program.pid() != 0 && program.exit_status().is_none());
        program.release().unwrap();
        program
    }

    fn end(program: &mut StartedProgram) -> ProgramExit {
        loop {
            if let Some(status) = program.exit_status() {
                return ProgramExit::ByItself(status, program.realtime_limit);
            }
            drop(clock::sleep_for(LOOK_EVERY));
        }
    }

    #[test]
    fn failures_are_described() {
        assert_eq!(end(&mut shell("exit 0")).failure(), None);
        assert_eq!(end(&mut shell("exit 7")).failure().unwrap(), "ended with status 7");
        assert_eq!(end(&mut shell("kill -9 $$")).failure().unwrap(), "was ended by signal 9 (SIGKILL)");
    }

    /// With `ulimit -R` of bash 5.1: the limit exists also for those who may not be real-time.
    #[test]
    fn a_limit_on_real_time_threads_is_named() {
        let Ok(true) =
            Command::new("bash").args(["-c", "ulimit -R 200000"]).status().map(|status| status.success())
        else {
            return howlate_testing::skip("bash knows no `ulimit -R`");
        };
        let run = |script: &str| {
            let command_line: Vec<OsString> = ["bash", "-c", script].map(OsString::from).to_vec();
            let mut program = StartedProgram::hold(&command_line, |_| ()).unwrap();
            program.release().unwrap();
            let stopped = end(&mut program);
            (stopped.failure().unwrap(), stopped.hint())
        };
        let (how, hint) = run("ulimit -S -R 200000; kill -XCPU $$");
        assert!(how.contains("signal 24 (SIGXCPU)") && how.contains("RLIMIT_RTTIME of 200 ms"), "{how}");
        assert!(hint.unwrap().contains("--rttime"));
        let (how, _) = run("ulimit -S -R 200000; (kill -XCPU $BASHPID); exit $?");
        assert!(how.contains("status 152") && how.contains("SIGXCPU") && how.contains("200 ms"), "{how}");
        let (how, hint) = run("kill -XCPU $$");
        assert!(how.contains("SIGXCPU") && !how.contains("RTTIME") && hint.is_none(), "{how}");
    }

    #[test]
    fn a_program_stopped_by_howlate_has_not_failed() {
        let mut program = shell("exec sleep 60");
        assert_eq!(program.stop(), Some(ProgramExit::Requested));
        assert_eq!(ProgramExit::Requested.failure(), None);
        let mut exit_status = shell("exit 3");
        end(&mut exit_status);
        assert!(matches!(exit_status.stop(), Some(ProgramExit::ByItself(..))), "it had ended already");
    }

    #[test]
    fn a_program_that_is_not_there_says_so() {
        let command_line = [OsString::from("/no/such/program")];
        let error = StartedProgram::hold(&command_line, |_| ()).unwrap().release().unwrap_err();
        assert!(error.to_string().starts_with("cannot start `/no/such/program`"), "{error}");
        assert!(error.hint(&[]).unwrap().contains("path"));
    }
}
