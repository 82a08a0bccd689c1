//! What is watched: a process that runs already, or a program that is started for it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_procfs::Root;

use crate::error::{ProgramFailed, WatchError};
use crate::loops::{Loops, ticks_are_the_clock};
use crate::process::{Process, find};
use crate::program::{Program, Stopped};
use crate::threads::Threads;

/// What is watched.
pub enum Subject {
    /// It runs on, whatever becomes of us.
    Attached(Process),
    /// It ends with us, and has memory for the turns of loops that it marks.
    Started(Program, Option<Loops>),
}

impl Subject {
    /// Finds `process`, or starts `program` up to its first instruction; with `json`, standard output is not for it. Where there is a
    /// file for its `output`, what it would write on the terminal goes there, and it has no input from it.
    ///
    /// # Errors
    ///
    /// When it is not there, cannot be started, or cannot be handed memory.
    pub fn new(
        process: Option<&str>,
        program: &[OsString],
        json: bool,
        output: Option<&File>,
    ) -> Result<Self, WatchError> {
        if let Some(process) = process {
            return Ok(Self::Attached(find(&Root::live(), process, std::process::id())?));
        }
        let (loops, mut handed_on) = (Loops::create(ticks_are_the_clock(&Root::live())), Ok(()));
        let aside = |command: &mut Command| {
            handed_on = loops.as_ref().map_or(Ok(()), |loops| loops.hand_on(command));
            // What it prints would be in the middle of the result.
            if let (true, Ok(stderr)) = (json, io::stderr().as_fd().try_clone_to_owned()) {
                command.stdout(Stdio::from(stderr));
            }
            output.into_iter().for_each(|output| keep(command, output, json));
        };
        let program = Program::hold(program, aside)?;
        let failed = |source| WatchError::Start { program: program.name().to_owned(), source };
        handed_on.map_err(failed)?;
        let loops = loops.map_err(failed)?;
        Ok(Self::Started(program, Some(loops)))
    }

    /// The id of the process that is watched.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Attached(process) => process.pid,
            Self::Started(program, _) => program.pid(),
        }
    }

    /// What it is called: its process, or what was typed to start it.
    pub fn name(&self) -> &str {
        match self {
            Self::Attached(process) => &process.name,
            Self::Started(program, _) => program.name(),
        }
    }

    /// The loops that it marks, to be read by whoever watches it.
    pub const fn take_loops(&mut self) -> Option<Loops> {
        match self {
            Self::Attached(_) => None,
            Self::Started(_, loops) => loops.take(),
        }
    }

    /// Whether its terminal is its own, so that what is shown there is in nobody's way.
    pub const fn leaves_the_terminal_alone(&self) -> bool {
        matches!(self, Self::Attached(_))
    }

    /// Whether it is a program that does not run yet.
    pub const fn is_held(&self) -> bool {
        matches!(self, Self::Started(..))
    }

    /// Lets it run.
    ///
    /// # Errors
    ///
    /// When it cannot be started after all.
    pub fn begin(&mut self) -> Result<(), WatchError> {
        match self {
            Self::Attached(_) => Ok(()),
            Self::Started(program, _) => Ok(program.begin()?),
        }
    }

    /// Whether it has ended by itself.
    pub fn is_over(&mut self, threads: &Threads) -> bool {
        match self {
            Self::Attached(_) => threads.is_over(),
            Self::Started(program, _) => program.ended().is_some(),
        }
    }

    /// Ends what was started; what is to be said of it if it failed. Ctrl-C reaches it too, and is no failure of its own.
    pub fn end(mut self, interrupted: &AtomicBool) -> Option<ProgramFailed> {
        let Self::Started(program, _) = &mut self else { return None };
        let stopped = program.stop().filter(|_| !interrupted.load(Ordering::Relaxed));
        let how = stopped.and_then(Stopped::failure)?;
        let hint = stopped.and_then(Stopped::hint);
        Some(ProgramFailed { program: program.name().to_owned(), how, hint })
    }
}

/// Lets `output` have what `command` would write on the terminal. Keys are not for it.
fn keep(command: &mut Command, output: &File, json: bool) {
    let copy = || output.try_clone().map(Stdio::from);
    if io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    if let (true, Ok(file)) = (io::stderr().is_terminal(), copy()) {
        command.stderr(file);
    }
    let goes_to_terminal = if json { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    if let (true, Ok(file)) = (goes_to_terminal, copy()) {
        command.stdout(file);
    }
}
