//! A program that is started to be watched.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use howlate_linux::clock;
use howlate_linux::held_before_exec::Held;
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};

use crate::WatchError;

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
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// By itself, with this status.
    ByItself(ExitStatus),
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
        Ok(Self { name, held: Some(held), child: None })
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
        self.child.as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    /// Ends it, unless it has ended by itself: it is asked to, and killed if it does not for five seconds.
    pub fn stop(&mut self) -> Option<Stopped> {
        if let Some(status) = self.ended() {
            return Some(Stopped::ByItself(status));
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
        let Self::ByItself(status) = self else { return None };
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("ended with status {code}")),
            (None, Some(signal)) => Some(format!("was ended by signal {signal}")),
            (None, None) => Some("ended in an unknown way".to_owned()),
        }
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
                return Stopped::ByItself(status);
            }
            drop(clock::pause(LOOK_EVERY));
        }
    }

    #[test]
    fn how_a_program_failed_is_told() {
        assert_eq!(end(&mut shell("exit 0")).failure(), None);
        assert_eq!(end(&mut shell("exit 7")).failure().unwrap(), "ended with status 7");
        assert_eq!(end(&mut shell("kill -9 $$")).failure().unwrap(), "was ended by signal 9");
    }

    #[test]
    fn one_that_is_asked_to_end_has_not_failed() {
        let mut program = shell("exec sleep 60");
        assert_eq!(program.stop(), Some(Stopped::Asked));
        assert_eq!(Stopped::Asked.failure(), None);
        let mut ended = shell("exit 3");
        end(&mut ended);
        assert!(matches!(ended.stop(), Some(Stopped::ByItself(_))), "it had ended already");
    }

    #[test]
    fn a_program_that_is_not_there_says_so() {
        let words = [OsString::from("/no/such/program")];
        let error = Program::hold(&words, |_| ()).unwrap().begin().unwrap_err();
        assert!(error.to_string().starts_with("cannot start `/no/such/program`"), "{error}");
        assert!(error.hint().unwrap().contains("path"));
    }
}
