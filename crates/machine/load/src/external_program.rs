//! Loads that are external programs. The helper starts them, and ends all their processes.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use howlate_linux::helper::input_ends_within;
use howlate_linux::{clock, parent};
use howlate_model::{CpuSet, LoadKind, LoadPart, Span};
use howlate_procfs::{Root, descendants};
use howlate_safe_path::TemporaryFolder;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

use crate::scoreboard::Scoreboard;
use crate::stderr_tail::StderrTail;
use crate::stress_ng;

/// The program of rt-tests.
pub(crate) const HACKBENCH: &str = "hackbench";
pub(crate) const SHELL: &str = "sh";
/// How often the helper checks whether the program has ended.
const POLL_INTERVAL: Span = Span::from_millis(50);
/// Polls after which a program that ignores `SIGTERM` is killed: 2 s.
const TERMINATION_POLLS: u32 = 200;
const END_POLL_INTERVAL: Span = Span::from_millis(10);

/// Runs the program of `part` until the parent or the program ends.
pub(crate) fn serve(part: &LoadPart, cpus: &CpuSet, scoreboard: &Scoreboard) -> io::Result<()> {
    // Orphans of the program become children of this process, which can end them.
    set_child_subreaper(Some(getpid()))?;
    let folder = TemporaryFolder::create()?;
    let mut program = LoadProgram::start(part, cpus, folder.path())?;
    scoreboard.start(clock::now());
    let stop = program.watch(part, cpus, folder.path());
    end_all_children();
    if stop? == StopReason::ProgramDone {
        scoreboard.end(clock::now());
    }
    Ok(())
}

fn command(part: &LoadPart, cpus: &CpuSet, folder: &Path) -> io::Result<Command> {
    let with_arguments = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        command
    };
    Ok(match &part.kind {
        LoadKind::StressNg { name } => {
            let workers = part.workers.map_or(cpus.len(), |workers| workers as usize);
            stress_ng::command(name, workers, folder).map_err(io::Error::other)?
        }
        LoadKind::HackbenchProgram { options } => {
            with_arguments(HACKBENCH, &options.split_whitespace().collect::<Vec<_>>())
        }
        LoadKind::Command { command } => with_arguments(SHELL, &["-c", command]),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    })
}

#[derive(PartialEq, Eq)]
enum StopReason {
    ParentEnded,
    ProgramDone,
}

/// A running program.
struct LoadProgram {
    child: Child,
    stderr: Option<StderrTail<ChildStderr>>,
}

impl LoadProgram {
    fn start(part: &LoadPart, cpus: &CpuSet, folder: &Path) -> io::Result<Self> {
        let mut command = command(part, cpus, folder)?;
        // The program ends even when this helper itself is killed.
        parent::kill_with_this_thread(&mut command);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().map(StderrTail::new);
        Ok(Self { child, stderr })
    }

    /// Waits until the parent ends or the program is done; restarts a hackbench that is done.
    fn watch(&mut self, part: &LoadPart, cpus: &CpuSet, folder: &Path) -> io::Result<StopReason> {
        while !input_ends_within(POLL_INTERVAL)? {
            self.stderr.iter_mut().for_each(StderrTail::read_available);
            let Some(status) = self.child.try_wait()? else { continue };
            if !status.success() {
                let last_line = self.stderr.as_mut().and_then(StderrTail::last_line);
                let suffix = last_line.map_or_else(String::new, |line| format!(": {line}"));
                return Err(io::Error::other(format!("it ended with {status}{suffix}")));
            }
            match part.kind {
                LoadKind::HackbenchProgram { .. } => *self = Self::start(part, cpus, folder)?,
                _ => return Ok(StopReason::ProgramDone),
            }
        }
        Ok(StopReason::ParentEnded)
    }
}

/// Terminates all descendants, and kills those that do not end.
fn end_all_children() {
    for poll in 0.. {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let remaining = descendants(&Root::live(), std::process::id());
        if remaining.is_empty() {
            return;
        }
        // `SIGTERM` once, then time to clean up, then `SIGKILL`.
        if poll == 0 || poll > TERMINATION_POLLS {
            let signal = if poll == 0 { Signal::TERM } else { Signal::KILL };
            let pids = remaining.iter().filter_map(|pid| i32::try_from(*pid).ok()).filter_map(Pid::from_raw);
            pids.for_each(|pid| {
                let _ = kill_process(pid, signal);
            });
        }
        drop(clock::sleep_for(END_POLL_INTERVAL));
    }
}
