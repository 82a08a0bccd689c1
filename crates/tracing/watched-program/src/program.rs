//! A program that is started to be watched.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use howlate_linux::clock;
use howlate_linux::held_before_exec::Held;
use howlate_model::Span;
use howlate_procfs::Root;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::WatchError;
use crate::realtime_time::{RealtimeTime, signal_in_words, signal_of_status};

/// How long a program has to end by itself after it was asked to.
const PATIENCE: Span = Span::from_secs(5);
/// How often it is looked whether it has.
const LOOK_EVERY: Span = Span::from_millis(20);

/// A program that waits to be watched, or runs.
#[derive(Debug)]
pub struct Program {
    name: String,
    held: Option<Held>,
    child: Option<Child>,
    /// How long its real-time threads might compute, as it was when it had ended.
    realtime_time: RealtimeTime,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// By itself, with this status; under these limits.
    ByItself(ExitStatus, RealtimeTime),
    /// Because it was asked to.
    Asked,
}

impl Program {
    /// Starts it up to its first instruction. It belongs to the same terminal as this process, and gets what is typed there.
    ///
    /// # Errors
    ///
    /// When no process can be had.
    pub fn hold(words: &[OsString], prepare: impl FnOnce(&mut Command)) -> Result<Self, WatchError> {
        let (program, arguments) =
            words.split_first().map_or((OsString::new(), &[][..]), |(a, b)| (a.clone(), b));
        let name = program.to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.args(arguments);
        prepare(&mut command);
        let held =
            Held::start(command).map_err(|source| WatchError::Start { program: name.clone(), source })?;
        Ok(Self { name, held: Some(held), child: None, realtime_time: RealtimeTime::default() })
    }

    /// Its id; 0 where it does not run.
    pub fn pid(&self) -> u32 {
        self.held.as_ref().map(Held::pid).or(self.child.as_ref().map(Child::id)).unwrap_or(0)
    }

    /// Lets it run.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn begin(&mut self) -> Result<(), WatchError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let failed = |source| WatchError::Start { program: self.name.clone(), source };
        self.child = Some(held.let_go().map_err(failed)?);
        Ok(())
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        // Its limits are there until somebody asks how it ended.
        if has_ended(child) {
            self.realtime_time = RealtimeTime::of(&Root::live(), child.id()).unwrap_or(self.realtime_time);
        }
        child.try_wait().ok().flatten()
    }

    /// Ends it, unless it has ended by itself: it is asked to, and killed if it does not for five seconds.
    pub fn stop(&mut self) -> Option<Stopped> {
        if let Some(status) = self.ended() {
            return Some(Stopped::ByItself(status, self.realtime_time));
        }
        let child = self.child.as_mut()?;
        // One that has ended meanwhile is what is wanted.
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
        if !ends_within(child, PATIENCE) {
            drop(child.kill());
            drop(child.wait());
        }
        Some(Stopped::Asked)
    }

    /// As it was typed.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether a child has ended, without asking how.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(Some(_)))
}

/// What a shell's status tells of the program that it ran.
fn of_a_child(code: i32, limit: RealtimeTime) -> String {
    let Some(signal) = signal_of_status(code) else { return String::new() };
    let unknown = (signal == Signal::XCPU.as_raw()).then(|| "by its RLIMIT_RTTIME or RLIMIT_CPU".to_owned());
    let why = limit.why(signal).or(unknown).map_or_else(String::new, |why| format!(": {why}"));
    format!(", as a shell tells of a program that {} ended{why}", signal_in_words(signal))
}

/// Waits for its end; whether it came.
fn ends_within(child: &mut Child, patience: Span) -> bool {
    let until = clock::now().plus(patience);
    loop {
        match child.try_wait() {
            Ok(None) if clock::now() < until => drop(clock::pause(LOOK_EVERY)),
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

impl Stopped {
    /// What is to be said of a program that failed; `None` of one that did not.
    pub fn failure(self) -> Option<String> {
        let Self::ByItself(status, limit) = self else { return None };
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("ended with status {code}{}", of_a_child(code, limit))),
            (None, Some(signal)) => {
                let why = limit.why(signal).map_or_else(String::new, |why| format!(": {why}"));
                Some(format!("was ended by {}{why}", signal_in_words(signal)))
            }
            (None, None) => Some("ended in an unknown way".to_owned()),
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(self) -> Option<String> {
        let Self::ByItself(status, limit) = self else { return None };
        let signal = status.signal().or_else(|| status.code().and_then(signal_of_status))?;
        limit.why(signal)?;
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

    fn shell(script: &str) -> Program {
        let words: Vec<OsString> = ["sh", "-c", script].map(OsString::from).to_vec();
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        };
        let mut program = Program::hold(&words, quiet).unwrap();
        assert!(program.pid() != 0 && program.ended().is_none());
        program.begin().unwrap();
        program
    }

    fn end(program: &mut Program) -> Stopped {
        loop {
            if let Some(status) = program.ended() {
                return Stopped::ByItself(status, program.realtime_time);
            }
            drop(clock::pause(LOOK_EVERY));
        }
    }

    #[test]
    fn how_a_program_failed_is_told() {
        assert_eq!(end(&mut shell("exit 0")).failure(), None);
        assert_eq!(end(&mut shell("exit 7")).failure().unwrap(), "ended with status 7");
        assert_eq!(end(&mut shell("kill -9 $$")).failure().unwrap(), "was ended by signal 9 (SIGKILL)");
    }

    /// As bash has it since 5.1; whoever may not be real-time has a limit nonetheless.
    #[test]
    fn a_limit_on_real_time_threads_is_told() {
        let Ok(true) =
            Command::new("bash").args(["-c", "ulimit -R 200000"]).status().map(|status| status.success())
        else {
            return howlate_testing::skip("bash knows no `ulimit -R`");
        };
        let told = |script: &str| {
            let words: Vec<OsString> = ["bash", "-c", script].map(OsString::from).to_vec();
            let mut program = Program::hold(&words, |_| ()).unwrap();
            program.begin().unwrap();
            let stopped = end(&mut program);
            (stopped.failure().unwrap(), stopped.hint())
        };
        let (how, hint) = told("ulimit -S -R 200000; kill -XCPU $$");
        assert!(how.contains("signal 24 (SIGXCPU)") && how.contains("RLIMIT_RTTIME of 200 ms"), "{how}");
        assert!(hint.unwrap().contains("--rttime"));
        let (how, _) = told("ulimit -S -R 200000; (kill -XCPU $BASHPID); exit $?");
        assert!(how.contains("status 152") && how.contains("SIGXCPU") && how.contains("200 ms"), "{how}");
        let (how, hint) = told("kill -XCPU $$");
        assert!(how.contains("SIGXCPU") && !how.contains("RTTIME") && hint.is_none(), "{how}");
    }

    #[test]
    fn one_that_is_asked_to_end_has_not_failed() {
        let mut program = shell("exec sleep 60");
        assert_eq!(program.stop(), Some(Stopped::Asked));
        assert_eq!(Stopped::Asked.failure(), None);
        let mut ended = shell("exit 3");
        end(&mut ended);
        assert!(matches!(ended.stop(), Some(Stopped::ByItself(..))), "it had ended already");
    }

    #[test]
    fn a_program_that_is_not_there_says_so() {
        let words = [OsString::from("/no/such/program")];
        let error = Program::hold(&words, |_| ()).unwrap().begin().unwrap_err();
        assert!(error.to_string().starts_with("cannot start `/no/such/program`"), "{error}");
        assert!(error.hint().unwrap().contains("path"));
    }
}
