//! What is watched: a running process, or a program that howlate starts.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_procfs::Root;

use crate::error::{ProgramFailed, WatchError};
use crate::loops::{MarkedLoops, clock_is_tsc};
use crate::process::{NamedProcess, find_process};
use crate::program::{ProgramExit, StartedProgram};
use crate::threads::WatchedThreads;

/// What is watched.
pub enum WatchTarget {
    /// A running process, which outlives howlate.
    Running(NamedProcess),
    /// A program that ends with howlate, and the memory for its marked loops.
    Started(StartedProgram, Option<MarkedLoops>),
}

impl WatchTarget {
    /// Finds `process`, or starts `program` up to its first instruction. With `json` its standard output is redirected to standard error,
    /// with `output` what it would write to the terminal goes to that file.
    ///
    /// # Errors
    ///
    /// When there is no such process, or the program cannot be started or given the memory.
    pub fn new(
        process: Option<&str>,
        program: &[OsString],
        json: bool,
        output: Option<&File>,
    ) -> Result<Self, WatchError> {
        if let Some(process) = process {
            return Ok(Self::Running(find_process(&Root::live(), process, std::process::id())?));
        }
        let (loops, mut passed) = (MarkedLoops::create(clock_is_tsc(&Root::live())), Ok(()));
        let redirect = |command: &mut Command| {
            passed = loops.as_ref().map_or(Ok(()), |loops| loops.pass_to(command));
            // Otherwise its output would be mixed with the result.
            if let (true, Ok(stderr)) = (json, io::stderr().as_fd().try_clone_to_owned()) {
                command.stdout(Stdio::from(stderr));
            }
            output.into_iter().for_each(|output| redirect_output(command, output, json));
        };
        let program = StartedProgram::hold(program, redirect)?;
        let start_error = |source| WatchError::Start { program: program.name().to_owned(), source };
        passed.map_err(start_error)?;
        let loops = loops.map_err(start_error)?;
        Ok(Self::Started(program, Some(loops)))
    }

    /// Finds `process`: of several by that name, the one that has started the others.
    ///
    /// # Errors
    ///
    /// When there is no such process.
    pub fn running(process: &str) -> Result<Self, WatchError> {
        match Self::new(Some(process), &[], false, None) {
            Err(WatchError::Several { first: Some(first), .. }) => {
                Self::new(Some(&first.to_string()), &[], false, None)
            }
            target => target,
        }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Running(process) => process.pid,
            Self::Started(program, _) => program.pid(),
        }
    }

    /// Name of the process, or the first word of the command line.
    pub fn name(&self) -> &str {
        match self {
            Self::Running(process) => &process.name,
            Self::Started(program, _) => program.name(),
        }
    }

    /// Marked loops of a started program; only the first call returns them.
    pub const fn take_loops(&mut self) -> Option<MarkedLoops> {
        match self {
            Self::Running(_) => None,
            Self::Started(_, loops) => loops.take(),
        }
    }

    /// Whether the target does not write to howlate's terminal.
    pub const fn has_own_terminal(&self) -> bool {
        matches!(self, Self::Running(_))
    }

    /// Whether it is a program that has not run yet.
    pub const fn is_held(&self) -> bool {
        matches!(self, Self::Started(..))
    }

    /// Lets a started program run.
    ///
    /// # Errors
    ///
    /// When it cannot be started after all.
    pub fn release(&mut self) -> Result<(), WatchError> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Started(program, _) => Ok(program.release()?),
        }
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self, threads: &WatchedThreads) -> bool {
        match self {
            Self::Running(_) => threads.has_ended(),
            Self::Started(program, _) => program.exit_status().is_some(),
        }
    }

    /// Ends a started program; its failure, unless Ctrl-C, which reaches it too, ended it.
    pub fn end(mut self, interrupted: &AtomicBool) -> Option<ProgramFailed> {
        let Self::Started(program, _) = &mut self else { return None };
        let exit = program.stop().filter(|_| !interrupted.load(Ordering::Relaxed));
        let failure = exit.and_then(ProgramExit::failure)?;
        let hint = exit.and_then(ProgramExit::hint);
        Some(ProgramFailed { program: program.name().to_owned(), how: failure, hint })
    }
}

/// Redirects what `command` would write to the terminal to `output`, and its input from the terminal to `/dev/null`.
fn redirect_output(command: &mut Command, output: &File, json: bool) {
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
