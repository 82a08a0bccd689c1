//! What is watched: a process that runs already, or a program that is started for it.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_procfs::Root;
use howlate_watch::{Process, Program, Stopped, Threads, find};

use crate::cli::Watch;
use crate::error::Error;

/// What is watched.
pub(super) enum Subject {
    /// It runs on, whatever becomes of us.
    Attached(Process),
    /// It ends with us.
    Started(Program),
}

impl Subject {
    /// Finds it, or starts it up to its first instruction.
    pub(super) fn of(asked: &Watch) -> Result<Self, Error> {
        if let Some(process) = &asked.process {
            return Ok(Self::Attached(find(&Root::live(), process, std::process::id())?));
        }
        let aside = |command: &mut Command| {
            // What it prints would be in the middle of the result.
            if let (true, Ok(stderr)) = (asked.printing.json, io::stderr().as_fd().try_clone_to_owned()) {
                command.stdout(Stdio::from(stderr));
            }
        };
        Ok(Self::Started(Program::hold(&asked.program, aside)?))
    }

    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Attached(process) => process.pid,
            Self::Started(program) => program.pid(),
        }
    }

    /// Whether its terminal is its own, so that what is shown there is in nobody's way.
    pub(super) const fn leaves_the_terminal_alone(&self) -> bool {
        matches!(self, Self::Attached(_))
    }

    /// Lets it run.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        match self {
            Self::Attached(_) => Ok(()),
            Self::Started(program) => Ok(program.begin()?),
        }
    }

    /// Whether it has ended by itself.
    pub(super) fn is_over(&mut self, threads: &Threads) -> bool {
        match self {
            Self::Attached(_) => threads.is_over(),
            Self::Started(program) => program.ended().is_some(),
        }
    }

    /// Ends what was started; what is to be said of it if it failed. Ctrl-C reaches it too, and is no failure of its own.
    pub(super) fn end(mut self, interrupted: &AtomicBool) -> Option<Error> {
        let Self::Started(program) = &mut self else { return None };
        let stopped = program.stop().filter(|_| !interrupted.load(Ordering::Relaxed));
        let how = stopped.and_then(Stopped::failure)?;
        Some(Error::ProgramFailed { program: program.name().to_owned(), how })
    }
}
